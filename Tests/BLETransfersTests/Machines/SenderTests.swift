import BLESimulation
import Testing

@testable import BLETransfers

@Suite struct SenderTests {
    private func accepted(length: Int = 100, chunk: Int = 10, limit: Int = 50) -> TransferSender {
        var sender = TransferSender(length: length, chunkLength: chunk)
        #expect(sender.action() == .open(isNew: false))
        #expect(sender.action() == .wait)
        sender.didReceive(.accept(version: 1, offset: 0, checksum: 0, limit: limit))
        return sender
    }

    /// Sends everything that was granted.
    private func send(_ sender: inout TransferSender) -> [Range<Int>] {
        var ranges: [Range<Int>] = []
        while case .data(let range) = sender.action() {
            ranges.append(range)
            sender.didSend(range.count)
        }
        return ranges
    }

    @Test func `nothing is sent past what was granted, in chunks`() {
        var sender = accepted(limit: 25)
        #expect(send(&sender) == [0..<10, 10..<20, 20..<25])
        #expect(sender.action() == .wait)
        sender.didReceive(.grant(offset: 20, limit: 40))
        #expect(send(&sender) == [25..<35, 35..<40])
        #expect(sender.acknowledged == 20)
        sender.didReceive(.grant(offset: 40, limit: .max))
        #expect(send(&sender).last == 90..<100)
        sender.didReceive(.done)
        #expect(sender.action() == .end(.finished) && sender.acknowledged == 100)
    }

    @Test func `a transfer goes on where the receiver is, if its part is the same`() {
        var sender = TransferSender(length: 100, chunkLength: 10)
        _ = sender.action()
        sender.didReceive(.accept(version: 1, offset: 60, checksum: 7, limit: 100))
        #expect(sender.action() == .verify(count: 60, checksum: 7))
        sender.didVerify(isEqual: true)
        #expect(send(&sender).first == 60..<70)
        #expect(sender.beginning == 60)
    }

    static let invalidAnswers: [TransferMessage] = [
        .accept(version: 1, offset: 101, checksum: 0, limit: 200),
        .accept(version: 1, offset: 50, checksum: 0, limit: 49),
        .accept(version: 1, offset: Int(UInt32.max), checksum: 0, limit: Int(UInt32.max)),
    ]

    @Test(arguments: invalidAnswers) func `an invalid answer ends the transfer`(_ answer: TransferMessage) {
        var sender = TransferSender(length: 100, chunkLength: 10)
        _ = sender.action()
        sender.didReceive(answer)
        #expect(sender.action() == .end(.failed(.invalidMessage)))
    }

    @Test func `another version ends the transfer`() {
        var sender = TransferSender(length: 100, chunkLength: 10)
        _ = sender.action()
        sender.didReceive(.accept(version: 2, offset: 0, checksum: 0, limit: 100))
        #expect(sender.action() == .end(.failed(.version)))
    }

    @Test func `a part that differs twice ends the transfer`() {
        var sender = TransferSender(length: 100, chunkLength: 10)
        _ = sender.action()
        sender.didReceive(.accept(version: 1, offset: 60, checksum: 7, limit: 100))
        sender.didVerify(isEqual: false)
        #expect(sender.action() == .open(isNew: true))
        sender.didReceive(.accept(version: 1, offset: 60, checksum: 7, limit: 100))
        #expect(sender.action() == .end(.failed(.invalidMessage)))
    }

    static let invalidMessages: [TransferMessage] = [
        .grant(offset: 51, limit: 100), .grant(offset: 20, limit: 10), .resend(offset: 51, limit: 100), .done,
        .grant(offset: Int(UInt32.max), limit: Int(UInt32.max)),
    ]

    @Test(arguments: invalidMessages) func `an invalid message ends the transfer`(_ message: TransferMessage) {
        var sender = accepted()
        _ = send(&sender)
        sender.didReceive(message)
        #expect(sender.action() == .end(.failed(.invalidMessage)))
    }

    @Test func `a message that is not valid ends the transfer, and the receiver is told`() {
        var sender = accepted()
        sender.didReceive(nil)
        #expect(sender.action() == .end(.failed(.invalidMessage)))
    }

    @Test func `a grant answers a question`() {
        var sender = accepted()
        _ = send(&sender)
        sender.didTimeOut()
        #expect(sender.action() == .send(.status))
        sender.didReceive(.grant(offset: 30, limit: 80))
        #expect(sender.action() == .data(50..<60))
    }

    @Test func `bytes that were acknowledged are not sent again`() {
        var sender = accepted()
        _ = send(&sender)
        sender.didReceive(.grant(offset: 30, limit: 80))
        sender.didReceive(.resend(offset: 20, limit: 80))
        #expect(sender.action() == .end(.failed(.invalidMessage)))
    }

    @Test func `the receiver's window of 0 is waited for, and no longer than three questions`() {
        var sender = accepted(limit: 0)
        for _ in 0..<3 {
            #expect(sender.action() == .wait)
            sender.didTimeOut()
            #expect(sender.action() == .send(.status))
            sender.didReceive(.resend(offset: 0, limit: 0))
        }
        sender.didTimeOut()
        #expect(sender.action() == .end(.failed(.timedOut)))
    }

    @Test func `a trickle of grants ends the transfer`() {
        var sender = TransferSender(length: 100_000, chunkLength: 10)
        _ = sender.action()
        sender.didReceive(.accept(version: 1, offset: 0, checksum: 0, limit: 1))
        var count = 0
        loop: while count < 100 {
            switch sender.action() {
            case .data(let range):
                sender.didSend(range.count)
                count = range.upperBound
            case .send: sender.didReceive(.resend(offset: count, limit: count + 1))
            case .end(let end):
                #expect(end == .failed(.timedOut))
                break loop
            default:
                sender.didReceive(.grant(offset: count, limit: count + 1))
                sender.didTimeOut()
            }
        }
        #expect(count < 10)
    }

    @Test func `a receiver that asks for the same bytes for ever ends the transfer`() {
        var sender = accepted()
        var count = 0
        while count < 100 {
            _ = send(&sender)
            sender.didReceive(.resend(offset: 0, limit: 50))
            if case .end(let end) = sender.action() {
                #expect(end == .failed(.timedOut))
                break
            }
            count += 1
        }
        #expect(count < 20)
    }

    @Test func `a receiver that does not answer the offer ends the transfer`() {
        var sender = TransferSender(length: 100, chunkLength: 10)
        _ = sender.action()
        sender.didTimeOut()
        #expect(sender.action() == .end(.failed(.timedOut)))
    }

    @Test(arguments: 0..<300) func `with any messages of a receiver, a transfer ends`(_ seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        var sender = TransferSender(length: 100, chunkLength: 9)
        for step in 0..<100_000 {
            switch sender.action() {
            case .data(let range): sender.didSend(range.count)
            case .verify: sender.didVerify(isEqual: .random(using: &random))
            case .open, .send: break
            case .wait:
                if Int.random(in: 0..<8, using: &random) == 0 {
                    sender.didTimeOut()
                } else {
                    sender.didReceive(.random(length: 100, using: &random))
                }
            case .end: return
            }
            #expect(step < 99_999)
        }
    }
}

extension TransferMessage {
    /// A message of any peer, with numbers around the length and at the ends of their range.
    static func random(length: Int, using random: inout SeededGenerator) -> TransferMessage {
        func number() -> Int {
            switch Int.random(in: 0..<10, using: &random) {
            case 0: Int(UInt32.max)
            case 1: 0
            case 2: 65_536
            default: .random(in: 0...(length + 10), using: &random)
            }
        }
        return switch Int.random(in: 0..<10, using: &random) {
        case 0: .status
        case 1: .done
        case 2: .accept(version: 1, offset: number(), checksum: 0, limit: number())
        case 3, 4: .grant(offset: number(), limit: number())
        case 5: .resend(offset: number(), limit: number())
        case 6: .more([1])
        default:
            .data(offset: number(), [UInt8](repeating: 1, count: .random(in: 0...20, using: &random))[...])
        }
    }
}
