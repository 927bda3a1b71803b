public import BLE
internal import Waiting

/// The device's side of the message protocol: receives requests of centrals and answers them, encrypted too.
///
/// Its ``definition(name:serial:)`` runs on the simulated radio, and a `PeripheralHost` serves it to real centrals:
///
/// ```swift
/// let device = MessagePeripheral { request, _ in
///     guard request.command == MessageCommand(rawValue: 0x0201) else { throw MessageRejection.unknownCommand }
///     return Array("Bell".utf8)
/// }
/// let bell = device.definition(name: "Bell", serial: [1, 2, 3, 4, 5, 6])
/// ```
///
/// Requests are handled one at a time, in the order of their arrival. A frame that cannot be read and a handler that
/// throws have no reply; ``problems()`` tells why. Each central has a session of its own while it is subscribed, with keys
/// of its own. If the system does not tell subscribers apart, as BlueZ, one central at a time has a session: the first to
/// send a request. Requests of others are rejected with `insufficientResources`.
public actor MessagePeripheral {
    /// Returns the payload of the reply to a request, or nil to send no reply.
    public typealias Handler = @Sendable (MessageRequest, MessagePeripheral) async throws -> [UInt8]?

    /// A frame on its way, or the end of a session.
    public enum Step: Sendable, Hashable {
        /// A frame has arrived. Its write is not answered yet.
        case received([UInt8])
        /// A frame is about to be sent.
        case sending([UInt8])
        /// A further part of a long frame is about to be sent.
        case sendingPart([UInt8])
        /// A central is no longer subscribed. Nil if the system does not tell subscribers apart.
        case ended(Peripheral.ID?)
    }

    private nonisolated let identifiers: Identifiers
    private nonisolated let writeType: WriteType
    private let encryption: MessageEncryption?
    private let pairings: any PeripheralPairings
    private let partLength: Int?
    private let onStep: @Sendable (Step) async -> Void
    private let mayPair: @Sendable (Peripheral.ID) async -> Bool
    private let onRequest: Handler
    private var sessions: [Peripheral.ID?: Session] = [:]
    private var lastSession = 0
    /// The last session that was begun for a central, also while its keys are being read.
    private var newest: [Peripheral.ID?: Int] = [:]
    /// The last access to the pairings. They take turns.
    private var storing: Task<Void, Never>?
    /// How often the pairings have been forgotten.
    private var generation = 0
    /// Requests that wait for their central's subscription.
    private var waiting: [Outcome<Void>] = []
    private var observers: [Int: BoundedStream<BLEError>.Producer] = [:]
    private var lastObserver = 0
    /// The number of handlers that run.
    private var handling = 0
    /// Whether one of them has asked to forget the pairings.
    private var forgetsAfterReply = false

    /// The number of requests that were not answered, because they could not be read or the handler threw an error.
    public private(set) var problemCount = 0

    /// The number of pairings that are kept. The oldest are forgotten.
    public static let maximumPairings = 16
    /// The number of requests of a central that may wait to be handled.
    static let capacity = 64

    /// A central's session, from subscription to unsubscription.
    private struct Session {
        let number: Int
        /// Whose it is. Nil until the first request if the system does not tell subscribers apart.
        var central: Peripheral.ID?
        var keys: PeripheralLinkKeys
        var attMTU = 23
        let requests: AsyncStream<([UInt8], Peripheral.ID)>.Continuation
        let frames: AsyncStream<[UInt8]>.Continuation
    }

    /// The identifiers of a kind of device.
    private struct Identifiers {
        let service, request, reply: BluetoothUUID
        let company: UInt16
    }

    /// Creates a device.
    ///
    /// - Parameters:
    ///   - service: the service that the device advertises and contains.
    ///   - request: the characteristic that requests are written to.
    ///   - reply: the characteristic that notifies replies.
    ///   - company: the company whose manufacturer data carries the serial number.
    ///   - writeType: how requests are written.
    ///   - encryption: the encryption of messages. Nil if they are not encrypted.
    ///   - pairings: stores the keys of encrypted messages.
    ///   - partLength: the maximum number of bytes in a notification. Nil for what fits a packet of the link.
    ///   - onStep: called for each step, and waited for: for a log, or for a test that holds the device there.
    ///   - mayPair: asked before a new pairing; an earlier one is resumed without a question. By default, any central may
    ///     pair at any time. If it returns false, the request has no reply.
    ///   - onRequest: answers each request, except those of the key exchange.
    public init(
        service: BluetoothUUID = Devices.Configuration.defaultService,
        request: BluetoothUUID = Devices.Configuration.defaultRequest,
        reply: BluetoothUUID = Devices.Configuration.defaultReply,
        company: UInt16 = Devices.Configuration.defaultCompany, writeType: WriteType = .withResponse,
        encryption: MessageEncryption? = nil, pairings: any PeripheralPairings = MemoryPeripheralPairings(),
        partLength: Int? = nil, onStep: @escaping @Sendable (Step) async -> Void = { _ in },
        mayPair: @escaping @Sendable (Peripheral.ID) async -> Bool = { _ in true },
        onRequest: @escaping Handler
    ) {
        identifiers = Identifiers(service: service, request: request, reply: reply, company: company)
        self.writeType = writeType
        self.encryption = encryption
        self.pairings = pairings
        self.partLength = partLength.map { max(1, $0) }
        self.mayPair = mayPair
        self.onStep = onStep
        self.onRequest = onRequest
    }

    /// Creates a device of the kind that centrals use with the configuration, whose features are not used.
    public init(
        _ configuration: Devices.Configuration, pairings: any PeripheralPairings = MemoryPeripheralPairings(),
        partLength: Int? = nil, onStep: @escaping @Sendable (Step) async -> Void = { _ in },
        mayPair: @escaping @Sendable (Peripheral.ID) async -> Bool = { _ in true },
        onRequest: @escaping Handler
    ) {
        self.init(
            service: configuration.service, request: configuration.request, reply: configuration.reply,
            company: configuration.company, writeType: configuration.writeType, encryption: configuration.encryption,
            pairings: pairings, partLength: partLength, onStep: onStep, mayPair: mayPair,
            onRequest: onRequest)
    }

    // MARK: The definition

    /// The service with the request and the reply characteristic.
    public nonisolated var service: ServiceDefinition {
        ServiceDefinition(
            identifiers.service,
            characteristics: [
                CharacteristicDefinition(
                    identifiers.request,
                    writeType == .withoutResponse ? .writeWithoutResponse : .write,
                    onWrite: { (frame, request) throws(ATTError) in try await self.take(frame, request) }),
                CharacteristicDefinition(
                    identifiers.reply, .notify, onSubscribe: { await self.serve($0) }),
            ])
    }

    /// The device as a peripheral that advertises its serial number, of six bytes.
    public nonisolated func definition(name: String, serial: [UInt8]) -> PeripheralDefinition {
        PeripheralDefinition(
            advertisement: Advertisement(
                localName: name, rssi: -55, serviceUUIDs: [identifiers.service],
                manufacturerData: [identifiers.company: serial]),
            services: [service])
    }

    // MARK: Sending

    /// The centrals that are subscribed. Contains nil for those that the system does not tell apart, before the first
    /// request.
    public var subscribers: [Peripheral.ID?] { sessions.values.map(\.central) }

    /// Sends a notification to the centrals that are subscribed.
    ///
    /// Throws `payloadTooLong`. Sessions without keys are left out of an encrypted one.
    public func notify(
        _ command: MessageCommand, payload: [UInt8] = [], isEncrypted: Bool = false
    ) throws(MessageError) {
        for key in sessions.keys {
            do throws(MessageError) {
                try enqueue(Message(command, type: .notification, isEncrypted: isEncrypted, payload: payload), for: key)
            } catch {
                if error != .missingKey { throw error }
            }
        }
    }

    /// Sends any message to a central, for a test of what a central does with it.
    ///
    /// Throws `missingKey` for an encrypted message without keys, and `payloadTooLong`. Does nothing if the central is not
    /// subscribed.
    public func send(_ message: Message, to central: Peripheral.ID) throws(MessageError) {
        guard let key = sessions.first(where: { $0.key == central || $0.value.central == central })?.key else { return }
        try enqueue(message, for: key)
    }

    private func enqueue(_ message: Message, for key: Peripheral.ID?) throws(MessageError) {
        guard let frame = try sessions[key]?.keys.encode(message) else { return }
        deliver(frame, key)
    }

    private func deliver(_ frame: [UInt8], _ key: Peripheral.ID?) {
        guard let session = sessions[key], case .dropped = session.frames.yield(frame) else { return }
        report(
            BLEError(
                .overflow, "a message was dropped: \(Self.capacity) wait to be sent", isRetryable: true),
            session.central)
    }

    // MARK: Pairings and problems

    /// Forgets all pairings and keys. If a handler calls it, its reply is still sealed with the key that is forgotten.
    ///
    /// Throws `storageFailed`.
    public func forgetPairings() async throws(BLEError) {
        // An exchange in progress must not bring any of them back.
        generation += 1
        for key in sessions.keys { sessions[key]?.keys.dropCandidate() }
        try await store { _ in [] }
        if handling > 0 { forgetsAfterReply = true } else { forgetKeys() }
    }

    /// Changes the stored pairings, one change after the other.
    private func store(_ change: @escaping @Sendable ([MessageKey]) -> [MessageKey]) async throws(BLEError) {
        let earlier = storing
        let task = Task { [pairings] () -> Result<Void, BLEError> in
            await earlier?.value
            do throws(BLEError) {
                let known = try await pairings.keys()
                let changed = change(known)
                if changed != known { try await pairings.setKeys(changed) }
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        storing = Task { _ = await task.value }
        try await task.value.get()
    }

    private func forgetKeys() {
        forgetsAfterReply = false
        for key in sessions.keys { sessions[key]?.keys.forget() }
    }

    /// Returns why requests had no reply, from now on. Keeps the newest 64 unread problems.
    public func problems() -> BoundedStream<BLEError> {
        lastObserver += 1
        let token = lastObserver
        let (stream, producer) = BoundedStream.make(of: BLEError.self, policy: .dropOldest(capacity: 64)) {
            [weak self] in
            Task { await self?.removeObserver(token) }
        }
        observers[token] = producer
        return stream
    }

    private func removeObserver(_ token: Int) { observers[token] = nil }

    private func report(_ error: any Error, _ central: Peripheral.ID?) {
        problemCount += 1
        var problem =
            switch error {
            case let error as BLEError: error
            case let error as MessageError: BLEError(error)
            default: BLEError(.failed, "the request was not answered: \(error)", cause: error)
            }
        if let central { problem = problem.at(central) }
        for observer in observers.values { observer.yield(problem) }
    }

    // MARK: Sessions

    /// Takes a write to the request characteristic.
    private func take(_ frame: [UInt8], _ request: AttributeRequest) async throws(ATTError) {
        await onStep(.received(frame))
        // A request whose write was rejected in the meantime must not be carried out.
        if Task.isCancelled { throw .unlikelyError }
        // A request that comes while the subscription is being made waits for it, or its reply would be lost.
        while sessions[request.central] == nil, sessions[nil as Peripheral.ID?] == nil {
            let outcome = Outcome<Void>()
            waiting.append(outcome)
            do throws(BLEError) {
                try await outcome.wait()
            } catch {
                // The link has ended, or there is no subscription in time.
                waiting.removeAll { $0 === outcome }
                throw .unlikelyError
            }
        }
        let key = sessions[request.central] == nil ? nil : request.central
        if sessions[key]?.central == nil { sessions[key]?.central = request.central }
        guard sessions[key]?.central == request.central else { throw .insufficientResources }
        if let length = request.attMTU { sessions[key]?.attMTU = length }
        guard case .enqueued? = sessions[key]?.requests.yield((frame, request.central)) else {
            throw .insufficientResources
        }
    }

    /// Runs a session while a central is subscribed to the reply characteristic.
    private func serve(_ notifier: Notifier) async {
        let key = notifier.central
        let (requests, request) = AsyncStream.makeStream(
            of: ([UInt8], Peripheral.ID).self, bufferingPolicy: .bufferingOldest(Self.capacity))
        let (frames, frame) = AsyncStream.makeStream(of: [UInt8].self, bufferingPolicy: .bufferingOldest(Self.capacity))
        lastSession += 1
        let number = lastSession
        newest[key] = number
        defer { if newest[key] == number { newest[key] = nil } }
        var known: [MessageKey] = []
        do throws(BLEError) { known = try await pairings.keys() } catch { report(error, key) }
        // It may have ended meanwhile, or a later one begun.
        guard !Task.isCancelled, newest[key] == number else { return }
        sessions[key]?.requests.finish()
        sessions[key]?.frames.finish()
        sessions[key] = Session(
            number: number, central: key, keys: PeripheralLinkKeys(encryption, pairings: known),
            requests: request, frames: frame)
        for outcome in waiting { outcome.deliver(.success(())) }
        waiting = []
        await withDiscardingTaskGroup { group in
            group.addTask { for await frame in frames { await self.send(frame, notifier, key) } }
            group.addTask { for await (frame, central) in requests { await self.answer(frame, central, key, number) } }
        }
        guard sessions[key]?.number == number else { return }
        sessions[key] = nil
        await onStep(.ended(key))
    }

    private func send(_ frame: [UInt8], _ notifier: Notifier, _ key: Peripheral.ID?) async {
        let length = partLength ?? max(20, (sessions[key]?.attMTU ?? 23) - 3)
        for start in stride(from: 0, to: frame.count, by: length) {
            let part = Array(frame[start..<min(start + length, frame.count)])
            await onStep(start == 0 ? .sending(frame) : .sendingPart(part))
            await notifier.notify(part)
        }
    }

    // MARK: Requests

    /// Handles a request, and sends its reply.
    private func answer(_ frame: [UInt8], _ central: Peripheral.ID, _ key: Peripheral.ID?, _ number: Int) async {
        // What waited when its session ended is not another one's.
        guard !Task.isCancelled, sessions[key]?.number == number else { return }
        do {
            guard let request = try sessions[key]?.keys.decode(frame) else { return }
            let counter = sessions[key]?.keys.requestCounter
            guard request.type == .request else { throw MessageRejection.notARequest }
            let payload: [UInt8]?
            if let encryption, request.command == encryption.command {
                payload = try await exchange(request, central, key, number)
            } else {
                handling += 1
                defer { handling -= 1 }
                payload = try await onRequest(
                    MessageRequest(
                        request.command, payload: request.payload, isEncrypted: request.isEncrypted, from: central),
                    self)
            }
            // The session may have ended meanwhile.
            if let payload, sessions[key]?.number == number {
                let reply = Message(
                    request.command, type: .reply, isEncrypted: request.isEncrypted, payload: payload)
                let isExchange = request.command == encryption?.command
                if let frame = try sessions[key]?.keys.encode(reply, answering: isExchange ? nil : counter) {
                    deliver(frame, key)
                }
            }
        } catch {
            report(error, central)
        }
        if forgetsAfterReply, handling == 0 { forgetKeys() }
    }

    /// Returns the payload of the reply to a message of the key exchange.
    private func exchange(
        _ request: Message, _ central: Peripheral.ID, _ key: Peripheral.ID?, _ number: Int
    ) async throws -> [UInt8]? {
        let begun = generation
        if request.isEncrypted {
            guard request.payload.isEmpty else { throw MessageRejection.wrongPayload }
            guard let pairingKey = sessions[key]?.keys.candidateKey else { throw MessageError.missingKey }
            // Stored before it is used: a pairing that cannot be kept is none.
            try await remember(pairingKey)
            guard sessions[key]?.number == number, generation == begun,
                sessions[key]?.keys.candidateKey == pairingKey
            else { throw MessageError.missingKey }
            sessions[key]?.keys.confirm()
            return []
        }
        if try KeyExchangeRequest(decoding: request.payload).identifier == nil {
            guard await mayPair(central) else { throw MessageRejection.pairingRefused }
        }
        let known = try await pairings.keys()
        guard sessions[key]?.number == number, generation == begun, var keys = sessions[key]?.keys else { return nil }
        let (reply, pairingKey) = try keys.exchange(request.payload, among: known)
        if let pairingKey {
            try await remember(pairingKey)
            guard sessions[key]?.number == number, generation == begun else { return nil }
        }
        sessions[key]?.keys = keys
        return reply
    }

    /// Stores a pairing key as the newest.
    private func remember(_ key: MessageKey) async throws(BLEError) {
        try await store { known in
            known.last == key ? known : Array((known.filter { $0 != key } + [key]).suffix(Self.maximumPairings))
        }
    }
}

/// Why a handler does not answer a request.
public enum MessageRejection: Error, Hashable, Sendable {
    /// The device does not know the command.
    case unknownCommand
    /// The payload is not one of the command.
    case wrongPayload
    /// The command is only for encrypted messages.
    case notEncrypted
    /// The device does not let the central pair now.
    case pairingRefused
    /// The message is a reply or a notification.
    case notARequest
}
