import BLESimulation
import Testing

@testable import BLETransfers

@Suite struct ReceiverTests {
    private let bytes = [UInt8].random(100)

    /// A receiver that has accepted a file of 100 bytes.
    private func accepting(window: Int = 40) -> TransferReceiver {
        var receiver = TransferReceiver(
            file: TransferFile(name: "a", bytes: bytes), stored: 0, checksum: 0, window: window)
        #expect(receiver.action() == .send(.accept(version: 1, offset: 0, checksum: 0, limit: min(window, 100))))
        return receiver
    }

    private func data(_ range: Range<Int>) -> TransferMessage { .data(offset: range.lowerBound, bytes[range]) }

    @Test func `data is stored at once, and a quarter of the window is granted anew`() {
        var receiver = accepting()
        receiver.didReceive(data(0..<5))
        receiver.didReceive(data(5..<12))
        #expect(receiver.action() == .store(Array(bytes[..<12]), at: 0))
        receiver.didStore()
        #expect(receiver.action() == .send(.grant(offset: 12, limit: 52)))
        #expect(receiver.action() == .wait)
    }

    @Test func `data at another offset is asked for once, and is not stored`() {
        var receiver = accepting()
        receiver.didReceive(data(10..<20))
        receiver.didReceive(data(20..<30))
        #expect(receiver.action() == .send(.resend(offset: 0, limit: 40)))
        #expect(receiver.action() == .wait)
        receiver.didReceive(data(0..<10))
        #expect(receiver.action() == .store(Array(bytes[..<10]), at: 0))
    }

    @Test func `data that is there is discarded, and nothing is asked for`() {
        var receiver = accepting()
        receiver.didReceive(data(0..<20))
        #expect(receiver.action() == .store(Array(bytes[..<20]), at: 0))
        receiver.didStore()
        #expect(receiver.action() == .send(.grant(offset: 20, limit: 60)))
        receiver.didReceive(data(0..<10))
        receiver.didReceive(data(10..<20))
        #expect(receiver.action() == .wait)
        // Its rest is new.
        receiver.didReceive(data(15..<25))
        #expect(receiver.action() == .store(Array(bytes[20..<25]), at: 20))
    }

    @Test func `a question that meets a grant which waits is answered`() {
        var receiver = accepting()
        receiver.didReceive(data(0..<20))
        _ = receiver.action()
        receiver.didStore()
        receiver.didReceive(.status)
        receiver.didReceive(.status)
        #expect(receiver.action() == .send(.grant(offset: 20, limit: 60)))
        #expect(receiver.action() == .send(.resend(offset: 20, limit: 60)))
        #expect(receiver.action() == .wait)
    }

    @Test func `a message that is not valid ends the transfer, and the sender is told`() {
        var receiver = accepting()
        receiver.didReceive(nil)
        #expect(receiver.action() == .end(.failed(.invalidMessage)))
    }

    @Test func `data that was not granted ends the transfer`() {
        var receiver = accepting(window: 10)
        receiver.didReceive(data(0..<11))
        #expect(receiver.action() == .end(.failed(.invalidMessage)))
    }

    @Test(arguments: [0, 1, 99, 100, 101, 65_536, Int(UInt32.max)])
    func `wrong offsets for ever end the transfer`(_ offset: Int) {
        var receiver = accepting(window: 40)
        receiver.didReceive(data(0..<10))
        _ = receiver.action()
        receiver.didStore()
        var count = 0
        loop: while count < 100_000 {
            receiver.didReceive(.data(offset: offset, []))
            count += 1
            switch receiver.action() {
            case .end(let end):
                #expect(end == .failed(.invalidMessage))
                break loop
            default: break
            }
        }
        #expect(count < 10_000)
    }

    @Test func `endless questions end the transfer`() {
        var receiver = accepting()
        var count = 0
        while receiver.action() != .end(.failed(.timedOut)), count < 100 {
            receiver.didReceive(.status)
            count += 1
        }
        #expect(count < 40)
    }

    @Test func `a silent sender is asked three times`() {
        var receiver = accepting()
        receiver.didTimeOut()
        // It may have missed the answer.
        #expect(receiver.action() == .send(.accept(version: 1, offset: 0, checksum: 0, limit: 40)))
        receiver.didReceive(data(0..<40))
        #expect(receiver.action() == .store(Array(bytes[..<40]), at: 0))
        receiver.didStore()
        #expect(receiver.action() == .send(.grant(offset: 40, limit: 80)))
        for _ in 0..<3 {
            receiver.didTimeOut()
            #expect(receiver.action() == .send(.resend(offset: 40, limit: 80)))
        }
        receiver.didTimeOut()
        #expect(receiver.action() == .end(.failed(.timedOut)))
    }

    @Test func `a trickle of data ends the transfer`() {
        var receiver = accepting(window: 100)
        var count = 0
        while receiver.action() != .end(.failed(.timedOut)), count < 100 {
            receiver.didReceive(data(count..<count + 1))
            count += 1
            if case .store = receiver.action() { receiver.didStore() }
            receiver.didTimeOut()
        }
        #expect(count < 10)
    }

    @Test func `what has arrived before a cancellation is stored`() {
        var receiver = accepting()
        receiver.didReceive(data(0..<5))
        receiver.didReceive(.stop(.cancelled))
        #expect(receiver.action() == .store(Array(bytes[..<5]), at: 0))
        receiver.didStore()
        #expect(receiver.action() == .end(.refused(.cancelled)))
    }

    @Test func `a wrong checksum discards the file`() {
        var file = TransferFile(name: "a", bytes: bytes)
        file.checksum ^= 1
        var receiver = TransferReceiver(file: file, stored: 0, checksum: 0, window: 100)
        _ = receiver.action()
        receiver.didReceive(data(0..<100))
        _ = receiver.action()
        receiver.didStore()
        #expect(receiver.action() == .discard)
        #expect(receiver.action() == .end(.failed(.wrongChecksum)))
    }

    @Test(arguments: [Int.min, -1, 0, 1, 65_536, Int.max]) func `any window receives the file`(_ window: Int) {
        var pair = MachinePair(bytes, chunk: 10, window: window)
        pair.run()
        #expect(pair.senderEnd == .finished && pair.stored == bytes)
    }

    @Test(arguments: 0..<300) func `with any messages of a sender, a transfer ends, and little is stored`(_ seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        var receiver = accepting()
        var stored = 0
        for step in 0..<100_000 {
            switch receiver.action() {
            case .send: break
            case .store(let part, let offset):
                #expect(offset == stored && stored + part.count <= 100)
                stored += part.count
                receiver.didStore()
            case .finish: receiver.didFinish()
            case .discard: stored = 0
            case .wait:
                if Int.random(in: 0..<50, using: &random) == 0 {
                    receiver.didTimeOut()
                } else {
                    receiver.didReceive(.random(length: 100, using: &random))
                }
            case .end: return
            }
            #expect(step < 99_999)
        }
    }
}
