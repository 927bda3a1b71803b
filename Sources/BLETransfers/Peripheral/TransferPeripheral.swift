public import BLE
internal import Waiting

/// The peripheral's side of transfers: centrals send files to it, and receive files from it.
///
/// ```swift
/// let storage = MemoryTransferStorage { file, bytes in print("received", file.name) }
/// let receiver = TransferPeripheral(storage)
/// try await host.serve(receiver.definition(name: "Receiver"))
/// ```
///
/// Each central transfers one file at a time over its subscription, and one over each of its channels. Two of them
/// cannot send files of the same name: the second is refused with ``TransferRefusal/busy``.
///
/// A central that writes without a subscription is rejected with `improperlyConfigured`. If the system does not
/// distinguish subscribers, like BlueZ before 5.80, one central at a time uses the characteristics, and others are
/// rejected with `insufficientResources`, until its link ends, or until it has sent nothing for 60 s. Writes without
/// response have no visible rejection. Channels have no such limit.
public final class TransferPeripheral: Sendable {
    /// The configuration of a peripheral.
    public struct Configuration: Hashable, Sendable {
        /// The maximum length of a received file, in bytes.
        public var maximumLength: Int
        /// The maximum number of bytes that a central may send before they are stored. Over characteristics, at most 48
        /// packets.
        public var window: Int
        /// The maximum number of transfers at the same time.
        public var maximumTransfers: Int
        /// The maximum number of transfers of one central at the same time, over its subscription and its channels.
        public var maximumTransfersOfCentral: Int
        /// The maximum wait for a central that has asked for a file to accept it.
        public var openingTimeout: Duration
        /// The maximum wait for progress, after which the central is asked, up to three times.
        public var progressTimeout: Duration

        /// Creates a configuration.
        public init(
            maximumLength: Int = TransferFile.maximumLength, window: Int = 32_768, maximumTransfers: Int = 16,
            maximumTransfersOfCentral: Int = 4, openingTimeout: Duration = .seconds(60),
            progressTimeout: Duration = .seconds(10)
        ) {
            self.maximumLength = maximumLength
            self.window = window
            self.maximumTransfers = maximumTransfers
            self.maximumTransfersOfCentral = maximumTransfersOfCentral
            self.openingTimeout = openingTimeout
            self.progressTimeout = progressTimeout
        }
    }

    let storage: (any TransferStorage)?
    let library: (any TransferLibrary)?
    let configuration: Configuration
    let isAllowed: @Sendable (DeviceID, TransferRequest) async -> Bool
    let leases: TransferLeases
    private let uuid: BluetoothUUID
    private let security: AttributeSecurity

    /// Creates a peripheral.
    ///
    /// - Parameters:
    ///   - storage: stores what centrals send. Nil if they cannot send files.
    ///   - library: has the files that centrals receive. Nil if there are none.
    ///   - service: the type of the service.
    ///   - security: the security of the link that transfers need.
    ///   - isAllowed: decides whether a central may transfer a file. By default, each may.
    public init(
        _ storage: (any TransferStorage)?, library: (any TransferLibrary)? = nil, service: BluetoothUUID = .transfer,
        security: AttributeSecurity = .open, configuration: Configuration = Configuration(),
        isAllowed: @escaping @Sendable (_ central: DeviceID, _ request: TransferRequest) async -> Bool = { _, _ in true
        }
    ) {
        self.storage = storage
        self.library = library
        self.configuration = configuration
        self.isAllowed = isAllowed
        self.security = security
        uuid = service
        leases = TransferLeases(
            maximum: configuration.maximumTransfers, maximumOfCentral: configuration.maximumTransfersOfCentral)
    }

    // MARK: The definition

    /// Returns the service with its characteristics. Each call returns one with subscribers of its own: a peripheral
    /// that several hosts serve has a service for each.
    ///
    /// - Parameter channel: the number of the channel that the service publishes. Nil for none.
    public func service(publishing channel: PSM? = nil) -> ServiceDefinition {
        // The hosts of two adapters have subscribers with the same identities, or without any.
        let sessions = TransferSessions(window: configuration.window)
        var characteristics = [
            CharacteristicDefinition(
                .transferInput, .writeWithoutResponse, security: security,
                onWrite: { (packet, request) throws(ATTError) in try sessions.take(packet, request) }),
            CharacteristicDefinition(
                .transferOutput, .notify, security: security,
                onSubscribe: { notifier in
                    // Opened before the first suspension, and therefore before the central's next write.
                    let session = sessions.open(notifier.central)
                    defer { sessions.close(session) }
                    try await self.serve(session, of: sessions, notifier)
                }),
        ]
        if let channel {
            characteristics.append(
                CharacteristicDefinition(
                    Characteristic.publishedPSM.uuid, .read,
                    value: [UInt8(channel.rawValue & 0xFF), UInt8(channel.rawValue >> 8)]))
        }
        return ServiceDefinition(
            uuid, characteristics: characteristics,
            onDisconnect: { central in
                // Before the first suspension, and therefore before a write of the next link.
                sessions.release(central)
            })
    }

    /// Returns the channel that accepts transfers at a number.
    public func channel(_ psm: PSM) -> ChannelDefinition {
        ChannelDefinition(psm, security: security) { channel in
            let link = TransferLink.channel(
                channel, window: self.configuration.window, clock: channel.clock)
            do throws(BLEError) {
                try await self.serve(link) { channel.peer }
            } catch {
                await link.close()
                // The end of the channel is how a session ends.
                if error.code != .disconnected { throw error }
            }
        }
    }

    /// Returns the peripheral as one that advertises the service.
    ///
    /// - Parameter channel: the number of a channel that also accepts transfers. Nil for none.
    public func definition(name: String, channel: PSM? = nil) -> PeripheralDefinition {
        PeripheralDefinition(
            advertisement: Advertisement(
                localName: name, rssi: -55, serviceUUIDs: [uuid], flags: .generalDiscoverable),
            services: [service(publishing: channel)], channels: channel.map { [self.channel($0)] } ?? [])
    }

    /// Serves a subscription until it ends.
    private func serve(
        _ session: TransferSessions.Session, of sessions: TransferSessions, _ notifier: Notifier
    ) async throws(BLEError) {
        while let inbox = sessions.inbox(of: session) {
            if Task.isCancelled { throw .cancelled }
            let link = TransferLink(
                inbox: inbox, clock: notifier.clock, packetLength: { sessions.packetLength(session) },
                window: { sessions.window(session) },
                send: { [limit = configuration.progressTimeout] (packet) throws(BLEError) in
                    try await Outcome<Void>.race(within: limit, clock: notifier.clock) {
                        BLEError(.timedOut, "the central does not take notifications")
                    } _: { () throws(BLEError) in
                        await notifier.notify(packet)
                    }
                }, close: {})
            do throws(BLEError) {
                try await serve(link) { sessions.central(of: session) }
            } catch {
                // The shared session goes on with the next central, also if this one takes no notifications.
                if error.code == .timedOut, session.central == nil {
                    sessions.end(inbox, of: session)
                    continue
                }
                guard error.code == .disconnected else { throw error }
            }
        }
    }
}
