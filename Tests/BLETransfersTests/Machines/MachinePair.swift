import BLESimulation

@testable import BLETransfers

/// A sender and a receiver without a link between them, which perform one step after the other.
struct MachinePair {
    let file: TransferFile
    let bytes: [UInt8]
    let chunk: Int
    let window: Int
    /// What the receiver has stored, also over several links.
    var stored: [UInt8] = []
    private(set) var sender: TransferSender
    private(set) var receiver: TransferReceiver?
    private(set) var toReceiver: [TransferMessage] = []
    private(set) var toSender: [TransferMessage] = []
    private(set) var senderEnd: TransferEnd?
    private(set) var receiverEnd: TransferEnd?
    /// The bytes that were sent, on all links.
    private(set) var sentBytes = 0
    private(set) var isFinished = false
    private(set) var wasDiscarded = false
    private(set) var openings: [Bool] = []

    init(_ bytes: [UInt8], chunk: Int, window: Int) {
        (self.bytes, self.chunk, self.window) = (bytes, chunk, window)
        file = TransferFile(name: "a", bytes: bytes)
        sender = TransferSender(length: bytes.count, chunkLength: chunk)
    }

    /// What was offered and not delivered yet.
    private var offer: Bool?

    /// The steps that are possible.
    enum Step: CaseIterable {
        case sender, receiver, deliverToReceiver, deliverToSender, loseToReceiver, loseToSender
    }

    /// Performs a step. Returns false if it changes nothing.
    mutating func perform(_ step: Step) -> Bool {
        switch step {
        case .sender: return stepSender()
        case .receiver: return stepReceiver()
        case .deliverToReceiver:
            if let isNew = offer {
                offer = nil
                if isNew || stored.count > bytes.count { stored = [] }
                receiver = TransferReceiver(
                    file: file, stored: stored.count, checksum: Self.checksum(stored), window: window)
                return true
            }
            guard !toReceiver.isEmpty else { return false }
            let message = toReceiver.removeFirst()
            receiver?.didReceive(message)
            return true
        case .deliverToSender:
            guard !toSender.isEmpty else { return false }
            sender.didReceive(toSender.removeFirst())
            return true
        case .loseToReceiver:
            guard !toReceiver.isEmpty else { return false }
            toReceiver.removeFirst()
            return true
        case .loseToSender:
            guard !toSender.isEmpty else { return false }
            toSender.removeFirst()
            return true
        }
    }

    private mutating func stepSender() -> Bool {
        guard senderEnd == nil else { return false }
        switch sender.action() {
        case .open(let isNew):
            openings.append(isNew)
            offer = isNew
        case .verify(let count, let checksum):
            sender.didVerify(isEqual: Self.checksum(Array(bytes[..<count])) == checksum)
        case .send(let message): toReceiver.append(message)
        case .data(let range):
            toReceiver.append(.data(offset: range.lowerBound, bytes[range]))
            sentBytes += range.count
            sender.didSend(range.count)
        case .wait: return false
        case .end(let end):
            senderEnd = end
            if case .failed(let refusal) = end { toReceiver.append(.stop(refusal)) }
        }
        return true
    }

    private mutating func stepReceiver() -> Bool {
        guard receiverEnd == nil, let action = receiver?.action() else { return false }
        switch action {
        case .send(let message): toSender.append(message)
        case .store(let part, let offset):
            precondition(offset == stored.count)
            stored += part
            receiver?.didStore()
        case .finish:
            isFinished = true
            receiver?.didFinish()
        case .discard: (stored, wasDiscarded) = ([], true)
        case .wait: return false
        case .end(let end):
            receiverEnd = end
            if case .failed(let refusal) = end { toSender.append(.stop(refusal)) }
        }
        return true
    }

    static func checksum(_ bytes: [UInt8]) -> UInt32 {
        var checksum = TransferChecksum()
        checksum.append(bytes[...])
        return checksum.value
    }

    /// Loses everything on its way, and begins anew with what is stored.
    mutating func loseLink() {
        (toReceiver, toSender, offer, receiver, senderEnd, receiverEnd) = ([], [], nil, nil, nil, nil)
        sender = TransferSender(length: bytes.count, chunkLength: chunk)
    }

    /// Performs all steps without losses, at most so many. Returns how many there were.
    @discardableResult mutating func run(steps maximum: Int = .max) -> Int {
        var count = 0
        while count < maximum, senderEnd == nil {
            let steps: [Step] = [.deliverToSender, .deliverToReceiver, .receiver, .sender]
            var hasChanged = false
            for step in steps where perform(step) {
                (hasChanged, count) = (true, count + 1)
                break
            }
            guard hasChanged else { break }
        }
        return count
    }

    /// Performs a round on a slow link: what is on its way arrives, and then the receiver does everything, and the sender
    /// at most so many steps.
    mutating func round(steps: Int) {
        let (forward, back) = (toReceiver.count + (offer == nil ? 0 : 1), toSender.count)
        for _ in 0..<forward { _ = perform(.deliverToReceiver) }
        for _ in 0..<back { _ = perform(.deliverToSender) }
        while perform(.receiver) {}
        for _ in 0..<steps where !perform(.sender) { break }
    }

    /// Has both sides wait for too long at the same time.
    mutating func timeOut() {
        sender.didTimeOut()
        receiver?.didTimeOut()
    }

    /// Performs steps at random, of which some lose messages, until the sender has ended. Machines that wait time out.
    mutating func run(losing probability: Double, _ random: inout SeededGenerator) {
        for _ in 0..<200_000 where senderEnd == nil {
            // A slow link.
            if Int.random(in: 0..<500, using: &random) == 0 {
                if Bool.random(using: &random) { receiver?.didTimeOut() } else { sender.didTimeOut() }
            }
            let isLoss = Double.random(in: 0..<1, using: &random) < probability
            let steps: [Step] =
                isLoss
                ? [.loseToReceiver, .loseToSender] : [.sender, .receiver, .deliverToReceiver, .deliverToSender]
            if perform(steps.randomElement(using: &random)!) { continue }
            if steps.allSatisfy({ step in
                var copy = self; return !copy.perform(step)
            }), !isLoss {
                // A completed transfer answers questions about it, as a session does.
                if receiverEnd == .finished {
                    toSender.append(.done)
                } else {
                    timeOut()
                }
            }
        }
    }
}
