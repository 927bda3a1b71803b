public import BLE
internal import Synchronization

/// A connected device, valid as long as the link lasts.
///
/// Its features work until the link ends. Pending operations then fail with `disconnected`, and connecting again
/// creates another device.
public final class Device: Sendable {
    /// The serial number, twelve lowercase hexadecimal digits.
    public let serial: String
    /// The local name that the device advertised.
    public let name: String?
    /// The message session, for commands that do not belong to a feature.
    public let messages: MessageSession
    /// The features, in the order of the configuration.
    public let features: [any Feature]
    /// Whether it was among the connected devices.
    private let wasPublished = Mutex(false)
    /// Whether the features were informed of the link.
    private let isAnnounced = Mutex(false)

    init(_ discovered: DiscoveredDevice, _ configuration: Devices.Configuration, _ storage: any DeviceStorage) {
        serial = discovered.serial
        name = discovered.name
        let session = MessageSession(
            discovered.peripheral, kind: configuration,
            keys: StoredPairingKeys(serial: discovered.serial, storage: storage)
        ) {
            // Only now is this peripheral known to be the device.
            await storage.remember(discovered.serial, discovered.peripheral.central) {
                $0.name = discovered.name ?? $0.name
                $0.peripheral = discovered.peripheral.id
            }
        }
        messages = session
        features = configuration.features.map { type in
            type.init(handler: MessageHandler(serial: discovered.serial, session: session, commands: type.commands))
        }
    }

    /// The peripheral of the device.
    public var peripheral: Peripheral { messages.peripheral }

    /// Returns the feature of the given type. Throws `featureNotFound` if the configuration does not contain it.
    public func feature<F: Feature>(_ type: F.Type = F.self) throws(BLEError) -> F {
        for case let feature as F in features { return feature }
        throw BLEError(
            .featureNotFound, "the configuration does not contain \(F.self)", isRetryable: false,
            remedy: "Add it to the configuration's features.")
    }

    /// Ends the link.
    public func disconnect() async throws(BLEError) {
        try await peripheral.disconnect()
    }

    /// Waits until the link ends, and returns the reason. Throws `cancelled`.
    public func untilDisconnected() async throws(BLEError) -> BLEError { try await messages.untilClosed() }

    /// Whether the link is up.
    public var isConnected: Bool {
        get async {
            guard await !messages.transactions.isClosed else { return false }
            return await peripheral.connectionState == .connected
        }
    }

    // MARK: Life cycle

    /// Returns true once.
    func beginPublishing() -> Bool {
        wasPublished.withLock { wasPublished in
            defer { wasPublished = true }
            return !wasPublished
        }
    }

    /// Connects, discovers the services and enables notifications.
    ///
    /// - Parameter provesKey: whether the peripheral must prove that it has the pairing key before the features are
    ///   used.
    func start(_ timeout: Duration, provesKey: Bool) async throws(BLEError) {
        try await peripheral.connect(timeout: timeout)
        _ = try await peripheral.services()
        isAnnounced.withLock { $0 = true }
        for feature in features { await feature.connected() }
        try await messages.start()
        if provesKey { try await messages.secure() }
        for feature in features { await feature.ready() }
        try await messages.transactions.checkOpen()
    }

    /// Closes the session and informs the features that the link has ended.
    func end(_ error: BLEError) async {
        await messages.close(error)
        let wasAnnounced = isAnnounced.withLock { isAnnounced in
            defer { isAnnounced = false }
            return isAnnounced
        }
        guard wasAnnounced else { return }
        for feature in features { await feature.disconnected(error) }
    }
}

/// A device in range.
public struct DiscoveredDevice: Identifiable, Sendable, Equatable {
    /// The serial number.
    public var id: String { serial }
    /// The serial number, twelve lowercase hexadecimal digits.
    public let serial: String
    /// The peripheral of the device.
    public let peripheral: Peripheral
    /// The newest advertisement.
    public let advertisement: Advertisement

    /// The local name that the device advertises.
    public var name: String? { advertisement.localName }
}
