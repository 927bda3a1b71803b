public import BLE

/// The device's side of the message protocol: receives requests of centrals and answers them, also encrypted.
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
/// The requests of a central are handled one at a time, in the order of their arrival. There is no reply if a frame
/// cannot be decoded or a handler throws; ``problems()`` reports the reason, and so does a rejection to the central if
/// there is a command for them (``Devices/Configuration/rejections``): a ``MessageRejection`` as it is, any other error
/// as `failed`. While a central is subscribed, it has its
/// own session and keys. A request of a central that is not subscribed is rejected at once with `improperlyConfigured`.
/// A handler is cancelled when its session ends.
///
/// If the system does not distinguish subscribers, like BlueZ before 5.80, one central at a time holds the session, and
/// requests of others are rejected with `insufficientResources`. In `bound` mode, a central claims the session with a
/// complete key exchange. Before that, the requests of up to 8 centrals are handled; if there are more, a central that
/// resumes a known pairing replaces another one. An exchange for an unknown pairing has no reply in this case, because
/// all centrals would receive it. In `firmware` mode and without encryption, the session's central is the first to send
/// a request. The claim lasts until the link or the subscription ends, or until another central claims the session when
/// the holder has sent nothing for 30 s.
public actor MessagePeripheral {
    /// Returns the payload of the reply to a request, or nil to send no reply.
    public typealias Handler = @Sendable (MessageRequest, MessagePeripheral) async throws -> [UInt8]?

    /// A frame that is received or sent, or the end of a session.
    public enum Step: Sendable, Hashable {
        /// A frame has arrived. Its write is not answered yet.
        case received([UInt8])
        /// A frame is about to be sent.
        case sending([UInt8])
        /// A further part of a long frame is about to be sent.
        case sendingPart([UInt8])
        /// A central's session has ended, with its subscription or its link, or because another central has claimed
        /// it. Nil if the system does not distinguish subscribers and none had a session.
        case ended(DeviceID?)
    }

    private nonisolated let identifiers: Identifiers
    private nonisolated let writeType: WriteType
    let encryption: MessageEncryption?
    let rejections: MessageCommand?
    let pairings: PairingStore
    let partLength: Int?
    let onStep: @Sendable (Step) async -> Void
    let mayPair: @Sendable (DeviceID) async -> Bool
    let onRequest: Handler
    /// The subscriptions and sessions, by central. Nil for centrals that the system does not distinguish.
    var subscriptions: [DeviceID?: Subscription] = [:]
    /// The session without a central sends to all centrals that the system does not distinguish.
    var sessions: [DeviceID?: PeripheralSession] = [:]
    nonisolated let notifiers = ReplySubscribers()
    var claims = SessionClaims(needsProof: false)
    var lastNumber = 0
    /// The number of new pairings whose storing has begun.
    var lastPairing = 0
    /// Changes before and after pairings are forgotten.
    var generation = 0
    private var observers: [Int: BoundedStream<BLEError>.Producer] = [:]
    private var lastObserver = 0

    /// The number of requests that were not answered because they could not be decoded or the handler threw an error.
    public private(set) var problemCount = 0

    /// The number of pairings that are kept. Further ones are refused until ``forgetPairings()``.
    public static let maximumPairings = 16
    /// The identifiers of a kind of device.
    private struct Identifiers {
        let service, request, reply: BluetoothUUID
        let company: UInt16
    }

    /// Creates a device with encrypted messages.
    ///
    /// - Parameters:
    ///   - service: the service that the device advertises and contains.
    ///   - request: the characteristic that requests are written to.
    ///   - reply: the characteristic that notifies replies.
    ///   - company: the company whose manufacturer data carries the serial number.
    ///   - writeType: the type of writing requests.
    ///   - encryption: the encryption of messages.
    ///   - pairings: stores the keys of encrypted messages.
    ///   - mayPair: called before a new pairing, but not before an earlier one is resumed. If it returns false, the
    ///     request has no reply. Only this function decides which centrals in range can pair: return true only while
    ///     the owner allows it, for example while a button is held. The permission is for one pairing: it ends after 30
    ///     s, or when another central pairs.
    ///   - partLength: the maximum number of bytes in a notification. Nil for the maximum length of the link.
    ///   - rejections: the command with which centrals are told why a request is not answered. Nil to tell nothing.
    ///   - onStep: called for each step, and awaited: for a log, or for a test that pauses the device.
    ///   - onRequest: answers each request, except those of the key exchange.
    public init(
        service: BluetoothUUID = Devices.Configuration.defaultService,
        request: BluetoothUUID = Devices.Configuration.defaultRequest,
        reply: BluetoothUUID = Devices.Configuration.defaultReply,
        company: UInt16 = Devices.Configuration.defaultCompany, writeType: WriteType = .withResponse,
        encryption: MessageEncryption, pairings: any PeripheralPairings = MemoryPeripheralPairings(),
        mayPair: @escaping @Sendable (DeviceID) async -> Bool,
        partLength: Int? = nil, rejections: MessageCommand? = nil,
        onStep: @escaping @Sendable (Step) async -> Void = { _ in },
        onRequest: @escaping Handler
    ) {
        self.init(
            Identifiers(service: service, request: request, reply: reply, company: company), writeType, encryption,
            pairings, mayPair, partLength, rejections, onStep, onRequest)
    }

    /// Creates a device without encrypted messages; see
    /// ``init(service:request:reply:company:writeType:encryption:pairings:mayPair:partLength:rejections:onStep:onRequest:)``.
    public init(
        service: BluetoothUUID = Devices.Configuration.defaultService,
        request: BluetoothUUID = Devices.Configuration.defaultRequest,
        reply: BluetoothUUID = Devices.Configuration.defaultReply,
        company: UInt16 = Devices.Configuration.defaultCompany, writeType: WriteType = .withResponse,
        partLength: Int? = nil, rejections: MessageCommand? = nil,
        onStep: @escaping @Sendable (Step) async -> Void = { _ in },
        onRequest: @escaping Handler
    ) {
        self.init(
            Identifiers(service: service, request: request, reply: reply, company: company), writeType, nil,
            MemoryPeripheralPairings(), { _ in false }, partLength, rejections, onStep, onRequest)
    }

    /// Creates a device for the configuration that its centrals use. The configuration's features are not used.
    ///
    /// - Parameter mayPair: called before a new pairing. Not called if the configuration has no encryption.
    public init(
        _ configuration: Devices.Configuration, pairings: any PeripheralPairings = MemoryPeripheralPairings(),
        mayPair: @escaping @Sendable (DeviceID) async -> Bool,
        partLength: Int? = nil, onStep: @escaping @Sendable (Step) async -> Void = { _ in },
        onRequest: @escaping Handler
    ) {
        let identifiers = Identifiers(
            service: configuration.service, request: configuration.request, reply: configuration.reply,
            company: configuration.company)
        self.init(
            identifiers, configuration.writeType, configuration.encryption, pairings, mayPair, partLength,
            configuration.rejections, onStep, onRequest)
    }

    private init(
        _ identifiers: Identifiers, _ writeType: WriteType, _ encryption: MessageEncryption?,
        _ pairings: any PeripheralPairings, _ mayPair: @escaping @Sendable (DeviceID) async -> Bool,
        _ partLength: Int?, _ rejections: MessageCommand?, _ onStep: @escaping @Sendable (Step) async -> Void,
        _ onRequest: @escaping Handler
    ) {
        self.rejections = rejections
        self.identifiers = identifiers
        self.writeType = writeType
        self.encryption = encryption
        self.pairings = PairingStore(pairings)
        self.partLength = partLength.map { max(1, $0) }
        self.mayPair = mayPair
        self.onStep = onStep
        self.onRequest = onRequest
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
                    identifiers.reply, .notify,
                    onSubscribe: { notifier in
                        // Added before the first suspension, and therefore before the central's next request.
                        let subscriber = self.notifiers.add(notifier)
                        await self.serve(subscriber)
                    }),
            ], onDisconnect: { await self.disconnected($0) })
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

    /// The centrals that are subscribed. If the system does not distinguish them, contains the central that holds the
    /// session, or nil if there is none.
    public var subscribers: [DeviceID?] {
        sessions.filter { !$0.value.isShared }.map(\.key) + (subscriptions[.none] == nil ? [] : [claims.holder])
    }

    /// Sends a notification to the centrals that are subscribed.
    ///
    /// Throws `payloadTooLong`. An encrypted notification is not sent in sessions without keys.
    public func notify(
        _ command: MessageCommand, payload: [UInt8] = [], isEncrypted: Bool = false
    ) throws(MessageError) {
        for (key, session) in sessions {
            // A message over a shared subscription reaches all its centrals, so it is sent once.
            if session.isShared, key != (isEncrypted ? claims.holder : nil) { continue }
            do throws(MessageError) {
                try enqueue(Message(command, type: .notification, isEncrypted: isEncrypted, payload: payload), for: key)
            } catch {
                if error != .missingKey { throw error }
            }
        }
    }

    /// Sends any message to a central, for tests of the central.
    ///
    /// Throws `missingKey` for an encrypted message without keys, and `payloadTooLong`. Does nothing if the central has
    /// no session.
    public func send(_ message: Message, to central: DeviceID) throws(MessageError) {
        try enqueue(message, for: central)
    }

    private func enqueue(_ message: Message, for key: DeviceID?) throws(MessageError) {
        guard let frame = try sessions[key]?.encode(message) else { return }
        deliver(frame, key)
    }

    // MARK: Pairings and problems

    /// Forgets all pairings and keys. Replies of running handlers are still encrypted with the forgotten keys.
    ///
    /// Throws `storageFailed`.
    public func forgetPairings() async throws(BLEError) {
        // Keys that were read from the storage earlier must not restore a pairing.
        generation += 1
        for key in sessions.keys { sessions[key]?.dropCandidate() }
        try await pairings.change { _ in [] }
        generation += 1
        for key in sessions.keys { sessions[key]?.forgetKeys() }
    }

    /// Returns the reasons for requests without a reply, from now on. Keeps the newest 64 unread problems.
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

    func report(_ error: any Error, _ central: DeviceID?) {
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
}
