import BLE
import BLERecording
import BLESimulation
import BLETestSupport
import FoundationEssentials
import Testing

@Suite(.hangLimit) struct BTSnoopImportTests {
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

    /// The entries with times, by what they are.
    private func summary(_ recording: Recording) -> [String] { recording.entries.map { "\($0.time) \($0.what)" } }

    // MARK: Files

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

    // MARK: Attributes

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

    // MARK: Any input

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
