public import Logging

/// A Bluetooth stack in the peripheral role, at the level of registrations and ATT requests.
///
/// The host implements all policy, not the backend: stored values, deadlines, long reads and writes, the order of
/// writes, subscription handlers, and registering again after a loss. The host runs on its backend's executor, so that
/// an event reaches it without a hop. Therefore, a backend must never block.
///
/// All backends pass one contract suite, in the module `BLEBackendTesting`.
public protocol PeripheralBackend: Actor {
    /// What the stack allows.
    nonisolated var limits: PeripheralLimits { get }

    /// Measures deadlines and the sleeps of handlers, unless the host's configuration has a clock of its own. By
    /// default, the continuous clock.
    nonisolated var clock: any Clock<Duration> { get }

    /// Connects to the stack. Called before anything else, and again only if it has thrown.
    ///
    /// Throws `bluetoothUnavailable`, `adapterNotFound` or `unauthorized`.
    func start(_ context: PeripheralContext) async throws(BLEError)

    /// Ends all registrations and disconnects from the stack. Called once, last.
    func shutDown() async

    /// The state of the adapter in use.
    func adapterState() -> AdapterState

    /// Serves services, in the given order. Returns when the stack has accepted them.
    ///
    /// - Parameter application: a number for ``unregister(_:)`` and for the attributes in requests and events.
    func register(_ services: [ServiceDefinition], as application: Int) async throws(BLEError)

    /// Stops serving an application's services. Does nothing if they are not served.
    func unregister(_ application: Int) async

    /// Sends a value to the subscribers of a characteristic.
    ///
    /// Throws `notSupported` if a central is given and the stack does not tell subscribers apart.
    ///
    /// - Parameter central: the central to send the value to. Nil for all subscribers.
    func notify(
        _ value: [UInt8], from attribute: ServedAttribute, to central: DeviceID?
    ) async throws(BLEError)

    /// Returns what sends values of a characteristic from any thread. Nil if the stack has no such way: then
    /// ``notify(_:from:to:)`` sends them all.
    ///
    /// - Parameter central: the subscriber to send the values to. Nil for all.
    func sender(for attribute: ServedAttribute, to central: DeviceID?) -> ValueSender?

    /// Sends a value as an indication, and returns when a central has confirmed it.
    ///
    /// Otherwise like ``notify(_:from:to:)``.
    func indicate(
        _ value: [UInt8], from attribute: ServedAttribute, to central: DeviceID?
    ) async throws(BLEError)

    /// Sends nothing more to a subscriber, whose handler has failed. Called in the backend's isolation.
    ///
    /// A stack that waits for the return of ``PeripheralContext/handleEvent`` before it answers a subscription rejects
    /// it.
    ///
    /// - Parameters:
    ///   - central: the subscriber. Nil for those that the stack does not tell apart.
    ///   - error: what a subscription that is not answered yet is rejected with.
    func endSubscription(to attribute: ServedAttribute, of central: DeviceID?, _ error: ATTError)

    /// Ends the link of a central. Returns when it has ended, which is reported as an event, too. Does nothing if there
    /// is none.
    ///
    /// Throws `notSupported` if the stack cannot.
    func disconnect(_ central: DeviceID) async throws(BLEError)

    /// Accepts channels. Returns the number at which it does.
    ///
    /// It goes on when the stack or the adapter is lost, and after their return.
    ///
    /// Throws `busy` if the number is in use, and `unauthorized` if this user may not use it.
    ///
    /// - Parameters:
    ///   - psm: the number. Nil for one that is free.
    ///   - publication: a number for ``unpublishChannel(_:)``.
    ///   - accept: receives each channel, in the backend's isolation, with its central and number. The transport has
    ///     not started yet.
    ///   - onEnd: called once, in the backend's isolation, if no more channels can be accepted.
    func publishChannel(
        _ psm: PSM?, _ options: ChannelOptions, as publication: Int,
        accept: @escaping @Sendable (any ChannelTransport, DeviceID, PSM) -> Void,
        onEnd: @escaping @Sendable (BLEError) -> Void
    ) async throws(BLEError) -> PSM

    /// Stops accepting channels. Open ones stay open. Does nothing if the publication has ended.
    func unpublishChannel(_ publication: Int) async

    /// Starts to advertise. Returns when the stack has accepted it.
    ///
    /// Throws `busy` if the controller has no advertising set left, and `invalidArgument` for what does not fit.
    ///
    /// - Parameter advertising: a number for ``stopAdvertising(_:)`` and for events.
    func startAdvertising(_ parameters: AdvertisingParameters, as advertising: Int) async throws(BLEError)

    /// Stops advertising. Does nothing if it has ended.
    func stopAdvertising(_ advertising: Int) async
}

/// What a stack may lack. A backend implements only what its stack has.
extension PeripheralBackend {
    /// The continuous clock.
    public nonisolated var clock: any Clock<Duration> { ContinuousClock() }

    /// Returns nil.
    public func sender(for attribute: ServedAttribute, to central: DeviceID?) -> ValueSender? { nil }

    /// Does nothing: the stack has answered the subscription, and the host sends nothing to it.
    public func endSubscription(to attribute: ServedAttribute, of central: DeviceID?, _ error: ATTError) {}

    /// Throws `notSupported`.
    public func disconnect(_ central: DeviceID) async throws(BLEError) {
        throw .lacking("ending a central's link")
    }

    /// Throws `notSupported`.
    public func publishChannel(
        _ psm: PSM?, _ options: ChannelOptions, as publication: Int,
        accept: @escaping @Sendable (any ChannelTransport, DeviceID, PSM) -> Void,
        onEnd: @escaping @Sendable (BLEError) -> Void
    ) async throws(BLEError) -> PSM {
        throw .lacking("L2CAP channels")
    }

    /// Does nothing: none are accepted.
    public func unpublishChannel(_ publication: Int) async {}
}

/// Sends the values of a characteristic to its subscribers, without waiting for the backend's executor.
public struct ValueSender: Sendable {
    /// Sends a value, and waits if many are on their way; if the task is cancelled meanwhile, the value is not sent.
    /// Returns false if the stack is gone.
    public let send: @Sendable ([UInt8]) async -> Bool

    /// Creates a sender.
    public init(_ send: @escaping @Sendable ([UInt8]) async -> Bool) { self.send = send }
}

/// An attribute as one central uses it.
package struct AttributeOfCentral: Hashable {
    package let attribute: ServedAttribute
    /// Nil for all centrals, or for those that the stack does not distinguish.
    package var central: DeviceID?

    package init(attribute: ServedAttribute, central: DeviceID? = nil) {
        self.attribute = attribute
        self.central = central
    }
}

/// The place of an attribute in what a host serves: a characteristic, or one of its descriptors.
public struct ServedAttribute: Hashable, Sendable {
    /// The number of the application.
    public var application: Int
    /// The service's position in the definition.
    public var service: Int
    /// The characteristic's position in the service.
    public var characteristic: Int
    /// The descriptor's position in the characteristic. Nil for the characteristic itself.
    public var descriptor: Int?

    /// Creates the place of an attribute.
    public init(application: Int, service: Int, characteristic: Int, descriptor: Int? = nil) {
        self.application = application
        self.service = service
        self.characteristic = characteristic
        self.descriptor = descriptor
    }
}

/// What a stack allows in the peripheral role.
public struct PeripheralLimits: Hashable, Sendable {
    /// The services that the stack serves itself, and that a definition cannot have.
    public var reservedServices: Set<BluetoothUUID>
    /// Whether the stack tells subscribers apart, so that a value can be sent to one of them.
    public var distinguishesSubscribers: Bool
    /// How long the stack waits for the answer to a request, before it rejects the request itself.
    public var requestTimeout: Duration

    /// Creates limits. By default, those of the specification.
    public init(
        reservedServices: Set<BluetoothUUID> = [], distinguishesSubscribers: Bool = true,
        requestTimeout: Duration = .seconds(30)
    ) {
        self.reservedServices = reservedServices
        self.distinguishesSubscribers = distinguishesSubscribers
        self.requestTimeout = requestTimeout
    }
}

/// An event that a backend reports to its host.
public enum PeripheralBackendEvent: Sendable {
    /// The state of the adapter in use changed. Advertising ends when the adapter is switched off.
    case adapterStateChanged(AdapterState)
    /// Bluetooth stopped, and with it all links, registrations and subscriptions. The adapter's state reports its
    /// return.
    case stackLost(BLEError)
    /// The stack no longer serves the application's services.
    case applicationEnded(Int, BLEError)
    /// Advertising has ended: its duration has passed, or the stack has ended it.
    case advertisingEnded(Int, BLEError?)
    /// A central has made a link.
    case centralConnected(DeviceID)
    /// A central's link has ended.
    case centralDisconnected(DeviceID)
    /// A central has subscribed to a characteristic. Without a central, the first of several that the stack does not
    /// tell apart.
    case subscribed(ServedAttribute, central: DeviceID?, attMTU: Int?)
    /// A subscription has ended. Without a central, the last one.
    case unsubscribed(ServedAttribute, central: DeviceID?)
}

/// The event handler, request handlers, logger and clock that a host gives its backend.
public struct PeripheralContext: Sendable {
    /// Receives the backend's events. Must be called in the backend's isolation. Before `centralDisconnected`, the
    /// backend ends the link of the requests that it passes on; see ``CentralLink``.
    public let handleEvent: @Sendable (PeripheralBackendEvent) -> Void
    /// Answers a read with the value from the request's offset to its end. Ends within
    /// ``PeripheralLimits/requestTimeout``.
    public let read: @Sendable (ServedAttribute, AttributeRequest) async throws(ATTError) -> [UInt8]
    /// Accepts or rejects a write. Ends within ``PeripheralLimits/requestTimeout``.
    public let write: @Sendable (ServedAttribute, [UInt8], AttributeRequest) async throws(ATTError) -> Void
    /// Answers the prompts of pairings that centrals begin. Nil if that is not this program's business.
    public let pairing: PairingAgent?
    /// Receives log messages.
    public let logger: Logger
    /// Measures deadlines.
    public let clock: any Clock<Duration>

    /// Creates a context.
    public init(
        handleEvent: @escaping @Sendable (PeripheralBackendEvent) -> Void,
        read: @escaping @Sendable (ServedAttribute, AttributeRequest) async throws(ATTError) -> [UInt8],
        write: @escaping @Sendable (ServedAttribute, [UInt8], AttributeRequest) async throws(ATTError) -> Void,
        pairing: PairingAgent? = nil, logger: Logger, clock: any Clock<Duration>
    ) {
        self.handleEvent = handleEvent
        self.read = read
        self.write = write
        self.pairing = pairing
        self.logger = logger
        self.clock = clock
    }
}
