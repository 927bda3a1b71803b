import BLE
import BLESimulation
import Testing

@testable import BLEFirmware

@Suite struct UploadMachineTests {
    @Test func `the beginning is sent alone, and then as many chunks as the window has`() throws {
        var machine = UploadMachine(total: 100, window: 3)
        #expect(machine.nextOffset == 0)
        machine.didSend(0..<32)
        #expect(machine.nextOffset == nil)
        try machine.didReceive(offset: 32)
        for offset in [32, 42, 52] {
            #expect(machine.nextOffset == offset)
            machine.didSend(offset..<offset + 10)
        }
        #expect(machine.nextOffset == nil)
        try machine.didReceive(offset: 42)
        #expect(machine.nextOffset == 62)
        #expect(machine.acknowledged == 42)
    }

    @Test func `an upload goes on where the device says`() throws {
        var machine = UploadMachine(total: 100, window: 3)
        machine.didSend(0..<32)
        try machine.didReceive(offset: 70)
        #expect(machine.nextOffset == 70)
        machine.didSend(70..<100)
        try machine.didReceive(offset: 100)
        #expect(machine.isComplete)
    }

    @Test func `a device that has everything receives nothing more`() throws {
        var machine = UploadMachine(total: 100, window: 3)
        machine.didSend(0..<32)
        try machine.didReceive(offset: 100)
        #expect(machine.isComplete && machine.nextOffset == nil)
    }

    @Test func `after a chunk is lost, what is in flight is waited for, and the device's offset counts`() throws {
        var machine = UploadMachine(total: 100, window: 3, offset: 10)
        for offset in [10, 20, 30] { machine.didSend(offset..<offset + 10) }
        // The first was lost.
        try machine.didReceive(offset: 10)
        #expect(machine.nextOffset == nil)
        try machine.didReceive(offset: 10)
        try machine.didReceive(offset: 10)
        #expect(machine.nextOffset == 10)
    }

    @Test func `a device that has forgotten the upload receives it from the beginning`() throws {
        var machine = UploadMachine(total: 100, window: 2, offset: 50)
        machine.didSend(50..<60)
        machine.didSend(60..<70)
        try machine.didReceive(offset: 0)
        try machine.didReceive(offset: 0)
        #expect(machine.nextOffset == 0)
        machine.didSend(0..<32)
        #expect(machine.nextOffset == nil)
    }

    @Test func `a device that accepts nothing ends the upload`() throws {
        var machine = UploadMachine(total: 100, window: 1)
        #expect(throws: UploadMachine.Failure.stalled(offset: 0)) {
            for _ in 0..<100 {
                machine.didSend(0..<32)
                try machine.didReceive(offset: 0)
            }
        }
    }

    @Test(arguments: [-1, 101, Int.max, Int.min]) func `an offset outside is refused`(_ offset: Int) {
        var machine = UploadMachine(total: 100, window: 1)
        machine.didSend(0..<32)
        #expect(throws: UploadMachine.Failure.invalidOffset(offset)) { try machine.didReceive(offset: offset) }
    }

    @Test func `nothing of an empty file is missing once the device has answered`() throws {
        var machine = UploadMachine(total: 0, window: 2)
        #expect(!machine.isComplete)
        machine.didSend(0..<0)
        try machine.didReceive(offset: 0)
        #expect(machine.isComplete)
    }

    @Test func `with any offsets that a device sends, an upload ends`() {
        for seed in 0..<300 {
            var random = SeededGenerator(seed: UInt64(seed))
            var machine = UploadMachine(total: 100, window: 4)
            var steps = 0
            do {
                while !machine.isComplete {
                    while let next = machine.nextOffset { machine.didSend(next..<min(next + 9, 100)) }
                    #expect(machine.isWaiting)
                    try machine.didReceive(offset: .random(in: 0...100, using: &random))
                    steps += 1
                    try #require(steps < 10_000)
                }
            } catch {}
            #expect(steps < 1_000)
        }
    }
}

@Suite struct RequestTableTests {
    @Test func `sequence numbers are used in turn, and none twice`() {
        var table = RequestTable()
        let numbers = (0..<256).map { table.add($0, .read, .echo) }
        #expect(numbers == (0..<256).map { UInt8($0) })
        #expect(table.add(256, .read, .echo) == nil)
        table.remove(sequence: 7, id: 6)
        #expect(table.add(256, .read, .echo) == nil)
        table.remove(sequence: 7, id: 7)
        #expect(table.add(256, .read, .echo) == 7)
    }

    @Test func `a response is matched once`() {
        var table = RequestTable()
        let sequence = table.add(1, .write, .echo)!
        let header = SMPHeader(.writeResponse, .echo, sequence: sequence, length: 0)
        #expect(table.match(SMPHeader(.readResponse, .echo, sequence: sequence, length: 0)) == nil)
        #expect(table.match(header) == 1)
        #expect(table.match(header) == nil)
        #expect(table.isEmpty)
    }

    @Test func `a device that forgets the upload after each beginning ends it`() throws {
        var machine = UploadMachine(total: 100, window: 1)
        #expect(throws: UploadMachine.Failure.stalled(offset: 0)) {
            for _ in 0..<100 {
                machine.didSend(0..<32)
                try machine.didReceive(offset: 32)
                machine.didSend(32..<41)
                try machine.didReceive(offset: 0)
            }
        }
    }

    @Test func `an upload outlives as many lost links as it may, and eight refusals`() {
        var retries = UploadRetries(reconnects: 2)
        let (lost, busy) = (BLEError(.disconnected, ""), BLEError(SMPFailure(.busy)))
        #expect(retries.next(after: lost) == .nextLink && retries.next(after: lost) == .nextLink)
        #expect(retries.next(after: lost) == nil)
        let pauses = (0..<8).compactMap { _ in retries.next(after: busy)?.pause }
        #expect(pauses.count == 8 && pauses.reduce(.zero, +) == .milliseconds(39_500))
        #expect(retries.next(after: busy) == nil)
        #expect(retries.next(after: BLEError(.shutDown, "", isRetryable: false)) == nil)
    }

    @Test func `a device that has answered before is asked three times on its link, and others are not`() {
        var (retries, other) = (UploadRetries(reconnects: 0), UploadRetries(reconnects: 0))
        let silence = BLEError(.timedOut, "")
        for _ in 0..<3 { #expect(retries.next(after: silence, hasBegun: true) == .sameLink) }
        #expect(retries.next(after: silence, hasBegun: true) == nil)
        #expect(other.next(after: silence) == nil)
    }

    @Test func `one refused chunk does not end an upload with a large window`() throws {
        var machine = UploadMachine(total: 1000, window: 16, offset: 0)
        for number in 0..<16 { machine.didSend(number * 10..<number * 10 + 10) }
        // The first one was refused.
        for _ in 0..<16 { try machine.didReceive(offset: 0) }
        #expect(machine.nextOffset == 0)
    }
}
