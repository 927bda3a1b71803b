public import BLE
public import BLEFeatures

/// A smart lock without a door. Its ``definition`` runs on a simulated radio, and a `PeripheralHost` serves it to real centrals.
///
/// What it cannot take (no frame, no request that it knows, not encrypted although it must be, sealed with a wrong key) has no reply and
/// changes nothing but ``rejectedCount``. A new lock lets any central pair. Afterwards, it takes the button on the inside of the
/// door, ``holdButton(_:)``.
public struct SimulatedLock: Sendable {
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
    public let serial: [UInt8]
    private let mechanism: Mechanism
    /// What receives requests and sends replies.
    private let device: MessagePeripheral

    /// A lock as it comes from the factory.
    ///
    /// - Parameters:
    ///   - mode: how it seals messages.
    ///   - partLength: how many bytes of a reply it puts into one notification. Nil for as many as fit.
    public init(
        serial: [UInt8] = [1, 2, 3, 4, 5, 6], mode: MessageCipher.Mode = .bound, partLength: Int? = nil
    ) {
        self.serial = serial
        let mechanism = Mechanism()
        self.mechanism = mechanism
        let pairings = MemoryPeripheralPairings()
        device = MessagePeripheral(
            encryption: .smartLock(mode: mode), pairings: pairings,
            mayPair: { _ in
                let isNew = await pairings.keys().isEmpty
                return await mechanism.isButtonHeld || isNew
            }, partLength: partLength
        ) { step in
            await mechanism.pass(step)
        } onRequest: { request, device in
            let payload = try await mechanism.carryOut(request)
            // Its reply is still sealed with the key that is forgotten.
            if request.command == .reset { try await device.forgetPairings() }
            return payload
        }
    }

    /// The lock as a peripheral.
    public var definition: PeripheralDefinition { device.definition(name: "Simulated Lock", serial: serial) }

    /// What it remembers.
    public var memory: SimulatedLockMemory { get async { await mechanism.memory } }
    /// The last frame that was written to it.
    public var lastRequest: [UInt8] { get async { await mechanism.lastRequest } }
    /// The last frame that it was to send.
    public var lastReply: [UInt8] { get async { await mechanism.lastReply } }
    /// How many requests it could not take.
    public var rejectedCount: Int { get async { await device.problemCount } }

    /// Holds the button on the inside of the door, or lets go of it. While it is held, any central may pair.
    public func holdButton(_ isHeld: Bool) async { await mechanism.holdButton(isHeld) }

    // MARK: What a test does

    /// From now on, stops at that point of each exchange, until ``release()`` or the end of the link.
    public func hold(at point: Point) async { await mechanism.hold(at: point) }

    /// Goes on, and stops no more.
    public func release() async { await mechanism.release() }

    /// Whether an exchange stands still.
    public var isHolding: Bool { get async { await mechanism.isHolding } }

    /// Finds a network, and tells who listens. Throws `payloadTooLong`.
    public func findNetwork(_ name: String) async throws(MessageError) {
        guard let isEncrypted = await mechanism.findNetwork(name), await !device.subscribers.isEmpty else { return }
        try await device.notify(.ssidUpdate, payload: Array(name.utf8), isEncrypted: isEncrypted)
    }

    /// Sends any message to all who listen, as a lock would that has a mind of its own. Throws `missingKey` when it is to be encrypted and
    /// there is no key, and `payloadTooLong`.
    public func send(_ message: Message) async throws(MessageError) {
        for case let central? in await device.subscribers { try await device.send(message, to: central) }
    }
}

/// What moves in a lock.
private actor Mechanism {
    private(set) var memory = SimulatedLockMemory()
    private(set) var lastRequest: [UInt8] = []
    private(set) var lastReply: [UInt8] = []
    private(set) var isButtonHeld = false
    private var heldPoint: SimulatedLock.Point?
    private let held = Gate()

    func carryOut(_ request: MessageRequest) throws -> [UInt8] { try memory.carryOut(request) }

    /// Adds a network. Returns whether its notification is to be encrypted; nil if nobody listens.
    func findNetwork(_ name: String) -> Bool? {
        if !memory.networks.contains(name) { memory.networks.append(name) }
        return memory.listener
    }

    func holdButton(_ isHeld: Bool) { isButtonHeld = isHeld }

    // MARK: Standing still

    var isHolding: Bool { held.isOccupied }

    func hold(at point: SimulatedLock.Point) { heldPoint = point }

    func release() {
        heldPoint = nil
        held.open()
    }

    func pass(_ step: MessagePeripheral.Step) async {
        switch step {
        case .received(let frame):
            lastRequest = frame
            await stop(at: .write)
        case .sending(let frame):
            lastReply = frame
            await stop(at: .reply)
        case .sendingPart: await stop(at: .rest)
        case .ended: memory.listener = nil
        }
    }

    private func stop(at point: SimulatedLock.Point) async {
        if heldPoint == point { await held.wait() }
    }
}
