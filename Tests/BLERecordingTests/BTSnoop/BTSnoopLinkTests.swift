import BLE
import BLERecording
import BLETestSupport
import Testing

/// Advertisements and links in captures.
@Suite(.hangLimit) struct BTSnoopLinkTests {
    // MARK: Advertisements

    @Test func `a packet and its scan response are one advertisement`() throws {
        var capture = BTSnoopCapture()
        capture.report(0, [2, 0x01, 6, 3, 0x03, 0x0D, 0x18], rssi: -50)
        capture.report(4, [3, 0x09, 0x48, 0x52], rssi: -48)
        capture.report(0, [2, 0x01, 6], rssi: -47)
        capture.report(3, [2, 0x01, 4], rssi: 127, address: 3)
        let entries = try capture.recording.entries
        #expect(entries.map(\.what) == [.advertisement, .advertisement, .advertisement])
        #expect(entries.map { $0.peripheral?.rawValue.last } == ["2", "2", "3"])
        #expect(entries.map { $0.advertisement?.rssi } == [-48, -47, nil])
        #expect(entries.map { $0.advertisement?.localName } == ["HR", "HR", nil])
        #expect(entries.map { $0.advertisement?.isConnectable } == [true, true, false])
        #expect(entries[1].advertisement?.serviceUUIDs == [BluetoothUUID(0x180D)])
        // The first is reported with the response, the second has none.
        #expect(entries.map(\.time) == [.milliseconds(1), .milliseconds(2), .milliseconds(3)])
    }

    @Test func `data is replaced, and malformed structures are left out`() throws {
        var capture = BTSnoopCapture()
        capture.report(3, [4, 0xFF, 1, 0, 9, 4, 0x16, 0x0F, 0x18, 50])
        capture.report(3, [4, 0xFF, 2, 0, 8, 2, 0xFF, 1, 9, 0x09, 0x41])
        let last = try #require(try capture.recording.entries.last?.advertisement)
        #expect(last.manufacturerData == [2: [8]])
        #expect(last.serviceData == [BluetoothUUID(0x180F): [50]])
        #expect(last.localName == nil)
        #expect(last.structures == [AdvertisingStructure(type: 0xFF, bytes: [1])])
    }

    @Test func `a complete name is not replaced with a shortened one`() throws {
        var capture = BTSnoopCapture()
        capture.report(3, [2, 0x08, 0x41])
        capture.report(3, [3, 0x09, 0x41, 0x42])
        capture.report(3, [2, 0x08, 0x41])
        #expect(try capture.recording.entries.map { $0.advertisement?.localName } == ["A", "AB", "AB"])
    }

    @Test func `a chain of packets that is longer than any advertisement is counted, not kept`() throws {
        var capture = BTSnoopCapture()
        func chain(_ count: Int, last: UInt8) {
            for part in 1...count {
                let isLast = part == count
                let data = isLast ? [2, 0x0A, last] : [UInt8](repeating: 200, count: 200)
                let subject: [UInt8] = [0x0D, 1, isLast ? 0 : 0x20, 0, 1, 2, 0, 0, 0, 0, 0xF0, 1, 1, 0, 127, 0xD8]
                let rest: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(data.count)]
                capture.event(0x3E, subject + rest + data)
            }
        }
        chain(1, last: 4)
        chain(100, last: 5)
        chain(1, last: 6)
        let entries = try capture.recording.entries
        // Nothing is made of the end of the chain.
        #expect(entries.compactMap { $0.advertisement?.txPower } == [4, 6])
        #expect(entries.first?.advertisement?.txPower == 4)
        #expect(entries.contains { $0.what == .gap })
        #expect(entries.allSatisfy { $0.advertisement?.structures.count ?? 0 < 10 })
    }

    // MARK: Links

    @Test func `only links of a central count`() throws {
        var capture = BTSnoopCapture()
        capture.connection(role: 1)
        capture.request(0x0A, 3, 0)
        capture.response(0x0B, 1)
        capture.disconnection(reason: 0x13)
        #expect(try capture.recording.entries.isEmpty)
    }

    @Test(arguments: [
        (UInt8(0x08), DisconnectReason.timeout), (0x13, .remote), (0x15, .remote), (0x16, .local),
        (0x3D, .authentication),
        (0x3E, .unknown),
    ])
    func `the reason of a link's end is that of the kernel`(code: UInt8, reason: DisconnectReason) throws {
        var capture = BTSnoopCapture()
        capture.connection()
        capture.disconnection(reason: code)
        #expect(try capture.recording.entries.last?.error?.disconnectReason == reason)
    }

    @Test func `the end of the adapter ends its links`() throws {
        var capture = BTSnoopCapture()
        capture.connection()
        capture.request(0x0A, 3, 0)
        capture.command(0x0C03, [])
        let entries = try capture.recording.entries
        #expect(entries.map(\.what) == [.connect, .reply, .read, .reply, .linkEnded])
        #expect(entries.last?.error?.disconnectReason == .adapterGone)
    }

    @Test func `fragments are joined, and lost ones are counted`() throws {
        var capture = BTSnoopCapture()
        capture.connection()
        capture.fragment([7, 0], isSent: false, isFirst: true)
        capture.fragment([4, 0, 0x1B, 3], isSent: false, isFirst: false)
        capture.fragment([0, 1, 2, 3, 4], isSent: false, isFirst: false)
        // A beginning without its end, an end without a beginning, and too much.
        capture.fragment([7, 0, 4, 0, 0x1B], isSent: false, isFirst: true)
        capture.response(0x1B, 3, 0, 9)
        capture.fragment([7, 0, 4, 0, 0x1B], isSent: false, isFirst: false)
        capture.fragment([1, 0, 4, 0, 0x1B, 3], isSent: false, isFirst: true)
        let entries = try capture.recording.entries
        #expect(entries.dropFirst(2).map(\.what) == [.value, .value, .gap])
        #expect(entries[2].value == [1, 2, 3, 4])
        #expect(entries[3].value == [9])
        #expect(entries.compactMap(\.number) == [3])
    }

    @Test func `a packet that cannot be decoded is counted`() throws {
        var capture = BTSnoopCapture()
        capture.connection()
        capture.response(0x1B, 3)
        capture.response(0x7F, 3)
        capture.frame(4, [], isSent: true)
        capture.event(0x3E, [2, 1, 0])
        // Others are not: classic Bluetooth, vendors' events, other channels.
        capture.event(0xFF, [1, 2, 3])
        capture.frame(5, [1, 2, 3], isSent: true)
        let gaps = try capture.recording.entries.filter { $0.what == .gap }
        #expect(gaps.map(\.number) == [4])
    }
}
