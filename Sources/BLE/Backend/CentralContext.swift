public import Logging

/// An event that a backend reports to its central.
public enum CentralBackendEvent: Sendable {
    /// The state of the adapter in use changed.
    case adapterStateChanged(AdapterState)
    /// An advertisement was received. It includes everything known from earlier ones, of several radios from those of
    /// the same radio.
    case advertisementReceived(Peripheral.ID, Advertisement)
    /// The scan ended although the adapter is on, and cannot continue.
    case scanEnded(BLEError)
    /// The system removed the peripheral. Its id is invalid until the peripheral is discovered again.
    case peripheralRemoved(Peripheral.ID)
    /// A link ended, no matter which side or program ended it. The error's `disconnectReason` is the reason, if it is
    /// known.
    case linkEnded(Peripheral.ID, BLEError)
    /// The services changed. Discover them again.
    case servicesChanged(Peripheral.ID)
    /// Notifications of the characteristic ended although the link is up: the characteristic is gone, or another client
    /// ended their delivery. They can be started again.
    case notificationsEnded(AttributeID, BLEError)
    /// The pairing prompts for the peripheral are complete or no longer valid.
    case pairingEnded(Peripheral.ID)
    /// What ``CentralBackend/freeSlots()``, ``CentralBackend/scanObstacle()`` or ``CentralBackend/stackObstacle()``
    /// returns has changed.
    case radioChanged
    /// Bluetooth stopped: all links, scans and subscriptions have ended. The adapter's state reports its return.
    case stackLost(BLEError)
}

/// The event handler, logger, clock and pairing agent that a central gives its backend.
public struct CentralContext: Sendable {
    /// Receives the backend's events. Must be called in the backend's isolation.
    public let handleEvent: @Sendable (CentralBackendEvent) -> Void
    /// Receives log messages.
    public let logger: Logger
    /// Measures deadlines and intervals.
    public let clock: any Clock<Duration>
    /// Answers pairing prompts.
    public let pairing: PairingAgent

    /// Creates a context.
    public init(
        handleEvent: @escaping @Sendable (CentralBackendEvent) -> Void, logger: Logger, clock: any Clock<Duration>,
        pairing: PairingAgent = .none
    ) {
        self.handleEvent = handleEvent
        self.logger = logger
        self.clock = clock
        self.pairing = pairing
    }
}

/// Starts a backend. If asked to, waits for a stack that is not there yet.
///
/// - Parameter didFail: told why there is a wait, once for each reason.
func startBackend(
    waits: Bool, clock: any Clock<Duration>, logger: Logger, isolation: isolated (any Actor)? = #isolation,
    didFail: (BLEError) -> Void = { _ in }, _ start: () async throws(BLEError) -> Void
) async throws(BLEError) {
    var told = ToldReasons()
    let backoff = Backoff(initial: .milliseconds(250), factor: 2, maximum: .seconds(5))
    try await backoff.retry(clock: clock, start) { error, _ in
        guard waits, [.bluetoothUnavailable, .adapterNotFound, .bluetoothLost, .timedOut].contains(error.code) else {
            return false
        }
        logger.info("waiting for Bluetooth", metadata: ["error": "\(error)"])
        if told.tell(error) { didFail(error) }
        return true
    }
}
