import BLE
import BLERecording
import BLETestSupport
import Testing

/// Packets of the Attribute Protocol in captures, as calls and their answers.
@Suite(.hangLimit) struct BTSnoopAttributeTests {
    /// Adds the discovery of a service 0xFF00 from 0x10 to 0x20, with a characteristic whose value is at 0x12, and a
    /// configuration at 0x13.
    private func discover(_ capture: inout BTSnoopCapture) {
        capture.request(0x06, 1, 0, 0xFF, 0xFF, 0x00, 0x28, 0x00, 0xFF)
        capture.response(0x07, 0x10, 0, 0x20, 0)
        capture.request(0x08, 0x10, 0, 0x20, 0, 0x03, 0x28)
        capture.response(0x09, 7, 0x11, 0, 0x12, 0x12, 0, 0x01, 0xFF)
        capture.request(0x04, 0x13, 0, 0x20, 0)
        capture.response(0x05, 1, 0x13, 0, 0x02, 0x29)
        capture.request(0x04, 0x14, 0, 0x20, 0)
        capture.response(0x01, 0x04, 0x14, 0, 0x0A)
    }

    @Test func `a discovery ends before the first use of another attribute`() throws {
        var capture = BTSnoopCapture()
        capture.connection()
        discover(&capture)
        capture.request(0x12, 0x13, 0, 1, 0)
        capture.response(0x13)
        capture.response(0x1B, 0x12, 0, 5)
        let entries = try capture.recording.entries
        #expect(entries.map(\.what) == [.connect, .reply, .discover, .reply, .subscribe, .reply, .value])
        #expect(entries.dropFirst(4).map(\.handle) == [0x11, nil, 0x11])
        #expect(entries.map(\.call) == [1, 1, 2, 2, 3, 3, nil])
        let expected = GATTCharacteristic(
            uuid: BluetoothUUID(0xFF01), handle: 0x11, properties: [.read, .notify],
            descriptors: [GATTDescriptor(uuid: BluetoothUUID(0x2902), handle: 0x13)])
        #expect(
            entries[3].services?.services == [
                GATTService(uuid: BluetoothUUID(0xFF00), handle: 0x10, characteristics: [expected])
            ])
        // Its reply is the last response.
        #expect(entries[3].time == .milliseconds(8))
    }

    @Test func `a characteristic at the handle of its service is none, and the lines can be read`() throws {
        var capture = BTSnoopCapture()
        capture.connection()
        capture.request(0x10, 1, 0, 0xFF, 0xFF, 0x00, 0x28)
        capture.response(0x11, 6, 0x10, 0, 0x20, 0, 0x00, 0xFF)
        capture.request(0x08, 0x10, 0, 0x20, 0, 0x03, 0x28)
        capture.response(0x09, 7, 0x10, 0, 0x02, 0x11, 0, 1, 0xFF, 0x12, 0, 0x02, 0x13, 0, 2, 0xFF)
        let recording = try capture.recording
        #expect(recording.entries.last?.services?.services.first?.characteristics.map(\.handle) == [0x12])
        #expect(try Recording(lines: recording.lines).entries.count == recording.entries.count)
    }

    @Test func `a read from any position can be written and read again`() throws {
        var capture = BTSnoopCapture()
        capture.connection()
        capture.request(0x0C, 3, 0, 0xFF, 0xFF)
        let recording = try Recording(lines: capture.recording.lines)
        #expect(recording.entries.last?.offset == 0xFFFF)
    }

    @Test func `the databases of a capture have at most as many attributes as it has bytes`() throws {
        var capture = BTSnoopCapture()
        capture.connection()
        capture.request(0x10, 1, 0, 0xFF, 0xFF, 0x00, 0x28)
        capture.response(0x11, 6, 1, 0, 0xFF, 0xFF, 0x00, 0xFF)
        capture.request(0x08, 1, 0, 0xFF, 0xFF, 0x03, 0x28)
        capture.response(0x09, 7, 2, 0, 2, 3, 0, 1, 0xFF)
        for start in stride(from: 4, to: 1204, by: 60) {
            let low = UInt8(truncatingIfNeeded: start)
            capture.request(0x04, low, UInt8(start >> 8), 0xFF, 0xFF)
            var found: [UInt8] = []
            for handle in start..<start + 60 { found += [UInt8(handle & 0xFF), UInt8(handle >> 8), 1, 0x29] }
            capture.frame(4, [0x05, 1] + found, isSent: false)
        }
        // Requests that are refused, each with a use of an attribute after it.
        for _ in 0..<1000 {
            capture.request(0x08, 1, 0, 0xFF, 0xFF, 0x03, 0x28)
            capture.response(0x01, 0x08, 1, 0, 0x05)
            capture.request(0x0A, 3, 0)
            capture.response(0x0B, 1)
        }
        let data = capture.data()
        let entries = try Recording(btsnoop: data).entries
        let counts = entries.compactMap { $0.services?.joined().reduce(0) { $0 + 1 + $1.descriptors.count } }
        #expect(counts.first == 1201)
        #expect(counts.reduce(0, +) <= data.count)
        #expect(entries.contains { $0.what == .gap })
        #expect(entries.filter { $0.what == .read }.count == 1000)
    }

    @Test func `what was discovered on an earlier link is still known`() throws {
        var capture = BTSnoopCapture()
        capture.connection()
        discover(&capture)
        capture.disconnection(reason: 0x13)
        capture.connection()
        capture.request(0x12, 0x13, 0, 0, 0)
        capture.response(0x13)
        #expect(try capture.recording.entries.suffix(2).map(\.what) == [.unsubscribe, .reply])
    }

    @Test func `services of the system are left out`() throws {
        var capture = BTSnoopCapture()
        capture.connection()
        capture.request(0x10, 1, 0, 0xFF, 0xFF, 0x00, 0x28)
        capture.response(0x11, 6, 1, 0, 5, 0, 0x00, 0x18, 0x10, 0, 0x20, 0, 0x00, 0xFF)
        capture.request(0x08, 1, 0, 5, 0, 0x03, 0x28)
        capture.response(0x09, 7, 2, 0, 2, 3, 0, 0x00, 0x2A)
        capture.request(0x0A, 3, 0)
        capture.response(0x0B, 0x41)
        let entries = try capture.recording.entries
        #expect(entries.map(\.what) == [.connect, .reply, .discover, .reply])
        #expect(entries.last?.services?.services.map(\.uuid) == [BluetoothUUID(0xFF00)])
    }

    @Test func `a value that ends with a full response is whole`() throws {
        var capture = BTSnoopCapture()
        let part = [UInt8](repeating: 6, count: 22)
        capture.connection()
        capture.request(0x0A, 3, 0)
        capture.frame(4, [0x0B] + part, isSent: false)
        capture.response(0x1B, 9, 0, 1)
        capture.request(0x0C, 3, 0, 22, 0)
        capture.frame(4, [0x0D] + part, isSent: false)
        capture.request(0x0C, 3, 0, 44, 0)
        capture.response(0x01, 0x0C, 3, 0, 0x07)
        // Another read of the rest is one of its own.
        capture.request(0x0C, 3, 0, 44, 0)
        capture.response(0x01, 0x0C, 3, 0, 0x07)
        let entries = try capture.recording.entries.dropFirst(2)
        #expect(entries.map(\.what) == [.read, .value, .reply, .read, .reply])
        #expect(entries.map(\.value) == [nil, [1], part + part, nil, nil])
        #expect(entries.last?.error?.attError == .invalidOffset)
        #expect(entries.map(\.offset) == [nil, nil, nil, 44, nil])
    }

    @Test func `values of several attributes are values of each`() throws {
        var capture = BTSnoopCapture()
        capture.connection()
        capture.request(0x20, 3, 0, 5, 0)
        capture.response(0x21, 1, 0, 7, 2, 0, 8, 9)
        capture.response(0x23, 3, 0, 1, 0, 1, 5, 0, 1, 0, 2)
        let entries = try capture.recording.entries.dropFirst(2)
        #expect(entries.map(\.what) == [.read, .read, .reply, .reply, .value, .value])
        #expect(entries.map(\.value) == [nil, nil, [7], [8, 9], [1], [2]])
        #expect(entries.map(\.handle) == [2, 4, nil, nil, 2, 4])
    }

    @Test func `what the peripheral asks of this machine is left out, except for the ATT MTU`() throws {
        var capture = BTSnoopCapture()
        capture.connection()
        capture.response(0x02, 100, 0)
        capture.request(0x03, 50, 0)
        capture.response(0x0A, 3, 0)
        capture.request(0x0B, 1)
        // A full response has 49 bytes.
        capture.request(0x0A, 3, 0)
        capture.frame(4, [0x0B] + [UInt8](repeating: 1, count: 49), isSent: false)
        capture.request(0x0C, 3, 0, 49, 0)
        capture.response(0x0D, 2)
        let entries = try capture.recording.entries.dropFirst(2)
        #expect(entries.map(\.what) == [.read, .reply])
        #expect(entries.last?.value?.count == 50)
    }

    /// A read that is refused until the link is encrypted.
    private func refusedRead(_ capture: inout BTSnoopCapture) {
        capture.connection()
        capture.request(0x0A, 3, 0)
        capture.response(0x01, 0x0A, 3, 0, 0x0F)
        capture.frame(6, [1, 3, 0, 0x0D, 16, 1, 1], isSent: true)
    }

    @Test func `a request that the system repeats after a pairing is one call`() throws {
        var capture = BTSnoopCapture()
        refusedRead(&capture)
        capture.event(0x08, [0, 0x40, 0, 1])
        capture.request(0x0A, 3, 0)
        capture.response(0x0B, 7)
        let entries = try capture.recording.entries.dropFirst(2)
        #expect(entries.map(\.what) == [.read, .pair, .reply, .reply])
        #expect(entries.last?.value == [7])
        #expect(entries.last?.error == nil)
    }

    @Test func `a request that is refused stays so without an encrypted link`() throws {
        var capture = BTSnoopCapture()
        refusedRead(&capture)
        capture.frame(6, [5, 8], isSent: false)
        // The program tries again, then something else.
        capture.request(0x0A, 3, 0)
        capture.response(0x01, 0x0A, 3, 0, 0x05)
        capture.request(0x0A, 5, 0)
        capture.response(0x01, 0x0A, 5, 0, 0x05)
        capture.disconnection(reason: 0x13)
        let entries = try capture.recording.entries.dropFirst(2)
        #expect(entries.map(\.what) == [.read, .reply, .pair, .reply, .read, .reply, .read, .reply, .linkEnded])
        #expect(entries.compactMap { $0.error?.attError?.rawValue } == [0x0F, 0x05, 0x05])
        #expect(entries.map(\.call) == [2, 2, 3, 3, 4, 4, 5, 5, nil])
    }

    @Test func `a single attribute after a value that is notified configures it, although it was not asked for`() throws
    {
        var capture = BTSnoopCapture()
        capture.connection()
        capture.request(0x10, 1, 0, 0xFF, 0xFF, 0x00, 0x28)
        capture.response(0x11, 6, 0x10, 0, 0x15, 0, 0x00, 0xFF)
        capture.request(0x08, 0x10, 0, 0x15, 0, 0x03, 0x28)
        capture.response(0x09, 7, 0x11, 0, 0x10, 0x12, 0, 1, 0xFF, 0x14, 0, 2, 0x15, 0, 2, 0xFF)
        capture.request(0x08, 0x15, 0, 0x15, 0, 0x03, 0x28)
        capture.response(0x01, 0x08, 0x15, 0, 0x0A)
        let services = try capture.recording.entries.last?.services?.services
        #expect(
            services?.first?.characteristics.map(\.descriptors) == [
                [GATTDescriptor(uuid: BluetoothUUID(0x2902), handle: 0x13)], [],
            ])
    }

    @Test func `a signed command has no signature, and a cancelled preparation writes nothing`() throws {
        var capture = BTSnoopCapture()
        capture.connection()
        capture.frame(4, [0xD2, 3, 0, 7] + [UInt8](repeating: 0xAA, count: 12), isSent: true)
        capture.request(0x16, 3, 0, 0, 0, 1)
        capture.response(0x17, 3, 0, 0, 0, 1)
        capture.request(0x18, 0)
        capture.response(0x19)
        let entries = try capture.recording.entries.dropFirst(2)
        #expect(entries.map(\.what) == [.command, .reply])
        #expect(entries.first?.value == [7])
    }
}
