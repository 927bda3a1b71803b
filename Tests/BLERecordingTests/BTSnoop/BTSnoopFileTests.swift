import BLE
import BLERecording
import BLESimulation
import BLETestSupport
import FoundationEssentials
import Testing

/// Captures as files: their headers, their records, and what is not a capture.
@Suite(.hangLimit) struct BTSnoopFileTests {
    /// A capture with a discovery, and more.
    private static func session() -> Recording {
        var session = BTSnoopRoundTripTests.Builder()
        session.advertisement(Advertisement(localName: "Strap", rssi: -40, addressType: .random, isConnectable: true))
        session.call(.connect)
        session.call(.attMTU, number: 50)
        session.call(.discover, services: BTSnoopRoundTripTests.database)
        session.call(.read, handle: 11, gives: [UInt8](repeating: 3, count: 100))
        session.call(.write, handle: 22, value: [1, 2])
        session.call(.reliableWrite, handle: 24, value: [1, 2])
        session.call(.subscribe, handle: 11)
        session.event(.value, handle: 11, value: [7])
        session.call(.pair)
        session.linkEnded(.remote)
        return session.recording
    }

    @Test(arguments: [UInt32(1001), 1002, 2001]) func `all link types are read`(linkType: UInt32) throws {
        let session = Self.session()
        let capture = BTSnoopCapture(session.btsnoop())
        let read = try Recording(btsnoop: capture.data(linkType))
        #expect(BTSnoopRoundTripTests.told(read) == BTSnoopRoundTripTests.told(session))
    }

    @Test func `the first adapter that receives LE packets is read, or another`() throws {
        var setup = BTSnoopCapture()
        setup.command(0x0C03, [])
        var near = BTSnoopCapture()
        near.report(3, [2, 0x0A, 4])
        var far = BTSnoopCapture()
        far.report(3, [2, 0x0A, 5])
        var data = BTSnoopCapture.header(2001)
        for (adapter, capture) in [setup, near, far].enumerated() {
            data.append(contentsOf: capture.content(2001, adapter: UInt32(adapter)))
        }
        func powers(_ recording: Recording) -> [Int?] { recording.entries.map { $0.advertisement?.txPower } }
        #expect(try powers(Recording(btsnoop: data)) == [4])
        #expect(try powers(Recording(btsnoop: data, adapter: 2)) == [5])
        #expect(try powers(Recording(btsnoop: data, adapter: 0)) == [])
    }

    @Test(arguments: [
        Data(), Data("btsnoop".utf8), Data("btsnoop\0".utf8), Data("btsnoop\0\0\0\0\u{1}\0\0".utf8),
        Data(repeating: 0x20, count: 100), BTSnoopCapture.header(1002, version: 2), BTSnoopCapture.header(1003),
    ])
    func `what is not a capture is refused`(data: Data) throws {
        let error = #expect(throws: BLEError.self) { try Recording(btsnoop: data) }
        #expect(error?.code == .invalidValue)
    }

    @Test(arguments: [
        (original: UInt32(5), included: UInt32(6)), (100_000, 100_000), (.max, .max), (0x8000_0000, 0x8000_0000),
    ])
    func `lengths that no record has are refused with its number`(original: UInt32, included: UInt32) throws {
        var capture = BTSnoopCapture()
        capture.report(3, [])
        capture.report(3, [])
        var data = capture.data()
        data.append(contentsOf: BTSnoopCapture.big(original) + BTSnoopCapture.big(included))
        data.append(contentsOf: [UInt8](repeating: 0, count: 100))
        let error = #expect(throws: BLEError.self) { try Recording(btsnoop: data) }
        #expect(error?.code == .invalidValue)
        #expect(error?.message.hasPrefix("record 3 ") == true)
    }

    @Test func `a file that was cut off anywhere is read as far as it goes`() throws {
        let data = Self.session().btsnoop()
        var counts: [Int] = []
        for end in 16...data.count { counts.append(try Recording(btsnoop: data.prefix(end)).entries.count) }
        #expect(counts.first == 0)
        #expect(counts.last == Self.session().entries.count)
    }

    @Test func `a slice of data is read`() throws {
        let data = Data([1, 2, 3]) + Self.session().btsnoop()
        let read = try Recording(btsnoop: data.dropFirst(3))
        #expect(read.entries.count == Self.session().entries.count)
    }

    @Test func `the recording begins with the first packet, and time does not go back`() throws {
        var capture = BTSnoopCapture()
        for (index, seconds) in [0, 10, 5, 7].enumerated() {
            capture.report(3, [2, 0x0A, UInt8(index)])
            capture.records[index].timestamp = BTSnoopCapture.start + UInt64(seconds) * 1_000_000
        }
        let recording = try capture.recording
        #expect(recording.header.began == 1)
        #expect(recording.entries.map(\.time) == [.zero, .seconds(10), .seconds(10), .seconds(12)])
        #expect(recording.header.stack == "btsnoop")
        // The lines of the recording can be read, whatever the clock said.
        capture.records[1].timestamp = .max >> 1
        #expect(try Recording(lines: capture.recording.lines).entries.count == 4)
    }

    /// 20,000 captures with a few bytes changed, moved or left out, of which each is read or refused.
    @Test func `no input traps`() throws {
        var generator = SeededGenerator(seed: 1)
        let valid = Array(Self.session().btsnoop())
        var read = 0
        for _ in 0..<20_000 {
            var bytes = valid
            for _ in 0..<Int.random(in: 1...6, using: &generator) {
                let position = Int.random(in: 0..<bytes.count, using: &generator)
                switch Int.random(in: 0..<5, using: &generator) {
                case 0: bytes[position] = UInt8.random(in: 0...255, using: &generator)
                case 1: bytes[position] ^= 1 << UInt8.random(in: 0...7, using: &generator)
                case 2: bytes[position] = [0, 1, 0x7F, 0x80, 0xFF].randomElement(using: &generator) ?? 0
                case 3: bytes.removeLast(min(bytes.count - 1, Int.random(in: 0..<40, using: &generator)))
                default:
                    let length = min(Int.random(in: 1...8, using: &generator), bytes.count - position)
                    let start = Int.random(in: 0...bytes.count - length, using: &generator)
                    bytes.replaceSubrange(position..<position + length, with: bytes[start..<start + length])
                }
            }
            do throws(BLEError) {
                let recording = try Recording(btsnoop: Data(bytes))
                read += 1
                // What was read can be written.
                if read % 50 == 0 {
                    _ = try Recording(btsnoop: recording.btsnoop())
                    _ = try Recording(lines: recording.lines)
                }
            } catch {
                #expect(error.code == .invalidValue)
            }
        }
        #expect(read > 5000)
    }
}
