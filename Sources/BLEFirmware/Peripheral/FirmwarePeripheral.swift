public import BLE

/// The device's side of the Simple Management Protocol (SMP): centrals update its firmware, and manage its files and
/// its shell.
///
/// Its ``definition(name:)`` runs on the simulated radio, and a `PeripheralHost` serves it to real centrals:
///
/// ```swift
/// let storage = MemoryFirmwareStorage(.init(primary: firmware))
/// let device = FirmwarePeripheral(storage, onReset: { _ in try await storage.reset() })
/// try await host.serve(device.definition(name: "Lamp"))
/// ```
///
/// The requests of a central are handled one at a time, in the order of their arrival, and those of several centrals at
/// the same time. One central uploads firmware at a time: others are refused with ``SMPFailure/Code/busy``, until its
/// link ends, or until it has sent nothing for 30 s. The upload itself is kept, and goes on when a central sends its
/// beginning again. A storage or a handler that does not return keeps its own central waiting, and others that upload
/// for at most 120 s.
///
/// A central that is not subscribed is rejected with `improperlyConfigured`. If the system does not distinguish
/// subscribers, like BlueZ before 5.80, one central at a time is served, and others are rejected with
/// `insufficientResources`, until its link ends, or until it has sent nothing for 30 s. Writes without response have no
/// visible rejection.
public actor FirmwarePeripheral {
    /// The size and the number of the buffers, as centrals see them.
    public nonisolated let parameters: ManagementParameters
    let storage: any FirmwareStorage
    let bootloader: String
    let mode: BootloaderMode
    let applicationInfo: String?
    let dateTime: DateTimeHandlers?
    let onExecute: (@Sendable ([String]) async throws -> FirmwareClient.ShellResult)?
    private let isAllowed: @Sendable (DeviceID, SMPCommand) async -> Bool
    private let onReset: (@Sendable (_ isForced: Bool) async throws -> Void)?
    private nonisolated let security: AttributeSecurity
    var upload: ReceivedUpload?
    var fileUploads: [String: ReceivedUpload] = [:]
    private var lastUpload = 0

    /// The device's clock. The texts are such as `2026-11-27T06:56:24`.
    public struct DateTimeHandlers: Sendable {
        let read: @Sendable () async throws -> String
        let write: @Sendable (String) async throws -> Void

        /// Creates handlers, which throw an ``SMPFailure`` or another error to refuse.
        public init(
            read: @escaping @Sendable () async throws -> String,
            write: @escaping @Sendable (String) async throws -> Void
        ) {
            self.read = read
            self.write = write
        }
    }

    /// Creates a device.
    ///
    /// - Parameters:
    ///   - storage: the slots and the files.
    ///   - parameters: the maximum length of a frame, 128 to 65535 bytes, and the number of frames of a central that
    ///     wait, 1 to 256. Others are replaced by the nearest of these.
    ///   - security: the security of the link that requests need. Centrals that may write can replace the firmware:
    ///     choose at least `.encrypted`, unless `isAllowed` decides.
    ///   - bootloader: the bootloader's name.
    ///   - mode: how the bootloader starts images. Reported only if its name is `MCUboot`.
    ///   - applicationInfo: the text that describes the application. Nil if there is none.
    ///   - dateTime: the clock. Nil if there is none.
    ///   - isAllowed: decides whether a central may use a command. By default, each may use all.
    ///   - onExecute: executes a shell command. Nil if there is no shell. Its output is cut to the buffer size. An
    ///     ``SMPFailure`` that it throws is the answer, and another error ``SMPFailure/Code/unknown``.
    ///   - onReset: resets the device, after the response was sent. The end of the link does not cancel it, and an
    ///     error is ignored. Nil if the device cannot be reset.
    public init(
        _ storage: any FirmwareStorage,
        parameters: ManagementParameters = ManagementParameters(bufferSize: 1024, bufferCount: 4),
        security: AttributeSecurity = .open, bootloader: String = "MCUboot",
        mode: BootloaderMode = .swapWithoutScratch, applicationInfo: String? = nil,
        dateTime: DateTimeHandlers? = nil,
        isAllowed: @escaping @Sendable (DeviceID, SMPCommand) async -> Bool = { _, _ in true },
        onExecute: (@Sendable (_ arguments: [String]) async throws -> FirmwareClient.ShellResult)? = nil,
        onReset: (@Sendable (_ isForced: Bool) async throws -> Void)? = nil
    ) {
        self.storage = storage
        self.parameters = ManagementParameters(
            bufferSize: min(max(128, parameters.bufferSize), Int(UInt16.max)),
            bufferCount: min(max(1, parameters.bufferCount), 256))
        self.security = security
        self.bootloader = bootloader
        self.mode = mode
        self.applicationInfo = applicationInfo
        self.dateTime = dateTime
        self.isAllowed = isAllowed
        self.onExecute = onExecute
        self.onReset = onReset
    }

    // MARK: The definition

    /// The service with its characteristic. Each use returns one with subscribers of its own: a device that several
    /// hosts serve has a service for each.
    public nonisolated var service: ServiceDefinition {
        // The hosts of two adapters have subscribers with the same identities, or without any.
        let sessions = ManagementSessions(bufferSize: parameters.bufferSize, bufferCount: parameters.bufferCount)
        return ServiceDefinition(
            .smp,
            characteristics: [
                CharacteristicDefinition(
                    Characteristic.smp.uuid, [.writeWithoutResponse, .notify], security: security,
                    onWrite: { (packet, request) throws(ATTError) in try sessions.take(packet, request) },
                    onSubscribe: { notifier in
                        // Opened before the first suspension, and therefore before the central's next request.
                        let subscription = sessions.open(notifier.central)
                        defer { sessions.close(subscription) }
                        // A handler that hangs in one session does not keep the next one waiting.
                        await withDiscardingTaskGroup { group in
                            for await session in subscription.sessions {
                                group.addTask { await self.handle(session, of: sessions, notifier) }
                            }
                        }
                    })
            ],
            onDisconnect: { central in
                // Before the first suspension, and therefore before a request of the next link.
                sessions.release(central)
                await self.disconnected(central)
            })
    }

    /// The device as a peripheral that advertises the service.
    public nonisolated func definition(name: String) -> PeripheralDefinition {
        PeripheralDefinition(
            advertisement: Advertisement(
                localName: name, rssi: -55, serviceUUIDs: [.smp], flags: .generalDiscoverable),
            services: [service])
    }

    private func disconnected(_ central: DeviceID) {
        upload?.holder.release(central)
        for name in fileUploads.keys { fileUploads[name]?.holder.release(central) }
    }

    func newUpload(image: Int, length: Int, digest: [UInt8]?) -> ReceivedUpload {
        ReceivedUpload(number: nextNumber(), image: image, length: length, digest: digest)
    }

    func nextNumber() -> Int {
        lastUpload += 1
        return lastUpload
    }

    // MARK: Requests

    private func handle(
        _ session: ManagementSessions.Session, of sessions: ManagementSessions, _ notifier: Notifier
    ) async {
        for await work in session.work where sessions.isOpen(session) {
            await handle(work, session, of: sessions, notifier)
        }
    }

    private func handle(
        _ work: ManagementSessions.Work, _ session: ManagementSessions.Session, of sessions: ManagementSessions,
        _ notifier: Notifier
    ) async {
        var afterwards: (@Sendable () async throws -> Void)?
        let response: SMPFrame
        switch work {
        case .refusal(let header, let failure): response = Self.response(to: header, failure.fields(header.version))
        case .request(let request, let central, let clock):
            // The end of the link cancels this task, and not what the storage is doing.
            let fields = await Task {
                do {
                    return try await answer(ManagementRequest(request, central, clock))
                } catch {
                    return (error as? SMPFailure ?? SMPFailure(.unknown)).fields(request.header.version)
                }
            }.value
            if request.header.command == .reset, fields.pairs.isEmpty, let onReset {
                let isForced = request.fields["force"]?.bool ?? false
                afterwards = { try await onReset(isForced) }
            }
            let frame = Self.response(to: request.header, fields)
            response =
                frame.bytes.count <= parameters.bufferSize
                ? frame
                : Self.response(to: request.header, SMPFailure(.responseTooLong).fields(request.header.version))
        }
        var rest = response.bytes[...]
        // The response of a session that has ended meanwhile would reach the central of the next one.
        while !rest.isEmpty, let length = sessions.packetLength(session) {
            await notifier.notify(Array(rest.prefix(length)))
            rest = rest.dropFirst(length)
        }
        sessions.finished(session)
        if let afterwards {
            // After a reset, the storage knows of no upload.
            (upload, fileUploads) = (nil, [:])
            // A central may end its link at once. A device that cannot be reset goes on.
            await Task { try? await afterwards() }.value
        }
    }

    private static func response(to header: SMPHeader, _ fields: CBORMap) -> SMPFrame {
        SMPFrame(
            header.operation.response ?? .readResponse, header.command, sequence: header.sequence, fields,
            version: header.version)
    }

    private func answer(_ request: ManagementRequest) async throws -> CBORMap {
        guard await isAllowed(request.central, request.command) else { throw SMPFailure(.accessDenied) }
        switch (request.operation, request.command) {
        case (.write, .reset):
            guard onReset != nil else { throw SMPFailure(.notSupported) }
            return [:]
        case (_, let command) where command.group == .os: return try await answerOS(request)
        case (_, let command) where command.group == .image: return try await answerImage(request)
        case (_, let command) where command.group == .file: return try await answerFile(request)
        case (.write, .execute): return try await execute(request)
        default: throw SMPFailure(.notSupported)
        }
    }
}
