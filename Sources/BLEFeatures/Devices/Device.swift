public import BLE
internal import Synchronization

/// A connected device, for as long as the link lasts.
///
/// Its features work until the link ends; then what they wait for fails with `disconnected`, and connecting again gives another
/// device.
public final class Device: Sendable {
    /// The serial number, twelve digits of lower case hexadecimal.
    public let serial: String
    /// What it advertised as its name.
    public let name: String?
    /// Messages without a feature, for what no feature knows.
    public let messages: MessageSession
    /// The features, in the order of the configuration.
    public let features: [any Feature]
    /// The features have learned of the link.
    private let isAnnounced = Mutex(false)

    init(_ discovered: DiscoveredDevice, _ configuration: Devices.Configuration, _ storage: any DeviceStorage) {
        serial = discovered.serial
        name = discovered.name
        let session = MessageSession(
            discovered.peripheral, configuration: configuration.transactions, reassembles: configuration.reassembles,
            encryption: configuration.encryption,
            keys: StoredPairingKeys(serial: discovered.serial, storage: storage)
        ) {
            // Only now it is known that this peripheral is the device.
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

    /// The peripheral behind it.
    public var peripheral: Peripheral { messages.peripheral }

    /// The feature of that type; `featureNotFound` when the configuration does not have it.
    public func feature<F: Feature>(_ type: F.Type = F.self) throws(BLEError) -> F {
        for case let feature as F in features { return feature }
        throw BLEError(
            .featureNotFound, "the configuration has no \(F.self)", isRetryable: false,
            remedy: "Add it to the configuration's features.")
    }

    /// Ends the link.
    public func disconnect() async throws(BLEError) {
        try await peripheral.disconnect()
    }

    /// Why the link has ended; returns when it has. Throws `cancelled`.
    public func untilDisconnected() async throws(BLEError) -> BLEError { try await messages.untilClosed() }

    /// Whether the link is up.
    public var isConnected: Bool {
        get async {
            guard await !messages.transactions.isClosed else { return false }
            return await peripheral.connectionState == .connected
        }
    }

    // MARK: Its life

    /// Connects, discovers, subscribes.
    ///
    /// - Parameter provesKey: the peripheral must prove that it has the pairing key, before features talk to it.
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

    /// Tells the features that it is over.
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

/// A device that is near.
public struct DiscoveredDevice: Sendable, Equatable {
    /// The serial number, twelve digits of lower case hexadecimal.
    public let serial: String
    /// The peripheral that it is.
    public let peripheral: Peripheral
    /// What it advertises.
    public let advertisement: Advertisement

    /// What it advertises as its name.
    public var name: String? { advertisement.localName }
}
