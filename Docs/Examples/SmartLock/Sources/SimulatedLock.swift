public import BLE
public import BLEFeatures

/// A smart lock without a door, for tests and demonstrations: its ``definition`` runs on a simulated radio.
///
/// What it cannot take (no frame, no request that it knows, not encrypted although it must be, sealed with a wrong key) has no reply and
/// changes nothing but ``rejectedCount``.
public actor SimulatedLock {
    /// Where in an exchange a lock can be held.
    public enum Point: Sendable, CaseIterable {
        /// A request has come, and its write is not answered yet.
        case write
        /// The request is carried out, the reply is yet to be sent.
        case reply
        /// The first part of a reply is sent, the others are not.
        case rest
    }

    /// The serial number, six bytes.
    public nonisolated let serial: [UInt8]
    /// What it remembers.
    public private(set) var memory = SimulatedLockMemory()
    /// The last frame that was written to it.
    public private(set) var lastRequest: [UInt8] = []
    /// The last frame that it was to send.
    public private(set) var lastReply: [UInt8] = []
    /// How many requests it could not take.
    public private(set) var rejectedCount = 0

    private let partLength: Int
    private var keys: SimulatedLockKeys
    /// Where the frames for the subscriber go; nil without one.
    private var outbox: AsyncStream<[UInt8]>.Continuation?
    private var linkNumber = 0
    private let subscribed = Gate()
    private var heldPoint: Point?
    private let held = Gate()

    /// A lock as it comes from the factory.
    ///
    /// - Parameters:
    ///   - mode: how it seals messages.
    ///   - partLength: how many bytes of a reply it puts into one notification.
    public init(
        serial: [UInt8] = [1, 2, 3, 4, 5, 6], mode: MessageCipher.Mode = .bound, partLength: Int = 244
    ) {
        self.serial = serial
        self.partLength = max(1, partLength)
        keys = SimulatedLockKeys(.smartLock(mode: mode))
    }

    /// The lock as a radio plays it.
    public nonisolated var definition: PeripheralDefinition {
        typealias Defaults = Devices.Configuration
        return PeripheralDefinition(
            advertisement: Advertisement(
                localName: "Simulated Lock", rssi: -55, serviceUUIDs: [Defaults.defaultService],
                manufacturerData: [Defaults.defaultCompany: serial]),
            services: [
                ServiceDefinition(
                    Defaults.defaultService,
                    characteristics: [
                        CharacteristicDefinition(
                            Defaults.defaultRequest, .write, onWrite: { frame, _ in await self.take(frame) }),
                        CharacteristicDefinition(
                            Defaults.defaultReply, .notify, onSubscribe: { await self.serve($0) }),
                    ])
            ])
    }

    // MARK: What a test does

    /// From now on, stops at that point of each exchange, until ``release()`` or the end of the link.
    public func hold(at point: Point) { heldPoint = point }

    /// Goes on, and stops no more.
    public func release() {
        heldPoint = nil
        held.open()
    }

    /// Whether an exchange stands still.
    public var isHolding: Bool { held.isOccupied }

    /// Finds a network, and tells who listens. Throws what ``send(_:)`` throws.
    public func findNetwork(_ name: String) throws(MessageError) {
        if !memory.networks.contains(name) { memory.networks.append(name) }
        guard let isEncrypted = memory.listener else { return }
        try send(Message(.ssidUpdate, type: .notification, isEncrypted: isEncrypted, payload: Array(name.utf8)))
    }

    /// Sends any message, as a lock would that has a mind of its own. Throws `missingKey` when it is to be encrypted and there is
    /// no key, and `payloadTooLong`.
    public func send(_ message: Message) throws(MessageError) {
        lastReply = try keys.encode(message)
        outbox?.yield(lastReply)
    }

    // MARK: The link

    /// Takes a write to the request characteristic.
    private func take(_ frame: [UInt8]) async {
        lastRequest = frame
        await pass(.write)
        // A request that comes while the subscription is being made waits for it, or its reply would be lost.
        if outbox == nil { await subscribed.wait() }
        // The link's end cancels the handler.
        guard !Task.isCancelled else { return }
        do {
            lastReply = try reply(to: frame)
            outbox?.yield(lastReply)
        } catch {
            rejectedCount += 1
        }
    }

    /// Sends what there is to be sent while a central is subscribed to the reply characteristic.
    private func serve(_ notifier: Notifier) async {
        let (frames, outbox) = AsyncStream.makeStream(of: [UInt8].self, bufferingPolicy: .bufferingOldest(64))
        linkNumber += 1
        let number = linkNumber
        endLink()
        self.outbox = outbox
        subscribed.open()
        for await frame in frames {
            await pass(.reply)
            await send(frame, notifier)
        }
        if number == linkNumber { endLink() }
    }

    private func send(_ frame: [UInt8], _ notifier: Notifier) async {
        for start in stride(from: 0, to: frame.count, by: partLength) {
            if start > 0 { await pass(.rest) }
            await notifier.notify(Array(frame[start..<min(start + partLength, frame.count)]))
        }
    }

    private func endLink() {
        outbox = nil
        memory.listener = nil
        keys.linkEnded()
    }

    private func pass(_ point: Point) async {
        if heldPoint == point { await held.wait() }
    }

    // MARK: Requests

    /// The frame that answers a request. Throws when there is no answer to it.
    private func reply(to frame: [UInt8]) throws -> [UInt8] {
        let request = try keys.decode(frame)
        guard request.type == .request else { throw SimulatedLockMemory.Rejection.unknownCommand }
        let payload: [UInt8]
        if request.command == .keyExchange, request.isEncrypted {
            guard request.payload.isEmpty else { throw SimulatedLockMemory.Rejection.wrongPayload }
            keys.confirm()
            payload = []
        } else if request.command == .keyExchange {
            payload = try keys.exchange(request.payload)
        } else {
            payload = try memory.carryOut(request)
        }
        let reply = try keys.encode(
            Message(request.command, type: .reply, isEncrypted: request.isEncrypted, payload: payload))
        // The reply to a reset is still sealed with the key that is forgotten.
        if request.command == .reset { keys.forget() }
        return reply
    }
}
