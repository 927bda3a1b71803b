import BLE
import BLEProfiles
import BLERecording
import BLESimulation
import BLETestSupport
import Testing

@Suite(.hangLimit) struct DifferenceTests {
    private let strap: DeviceID = "F0:00:00:00:00:01"

    private func entry(
        _ what: RecordedEntry.What, _ seconds: Double, call: Int? = nil, of id: DeviceID? = nil,
        handle: UInt16? = nil, value: [UInt8]? = nil, services: GATTDatabase? = nil, error: BLEError? = nil
    ) -> RecordedEntry {
        var entry = RecordedEntry(
            what, at: .seconds(seconds), call: call, peripheral: id, handle: handle, value: value, error: error)
        entry.services = services
        return entry
    }

    /// Discovers, and reads the battery, whose handle depends on the firmware.
    private func recording(handle: UInt16, value: [UInt8], seconds: Double = 1) -> Recording {
        let battery = GATTCharacteristic(uuid: BluetoothUUID(0x2A19), handle: handle, properties: .read)
        let database = GATTDatabase(
            services: [GATTService(uuid: .battery, handle: handle - 1, characteristics: [battery])])
        return Recording(
            Recording.Header(stack: "Test"),
            entries: [
                entry(.discover, 0, call: 1, of: strap), entry(.reply, 0.1, call: 1, services: database),
                entry(.read, seconds, call: 2, of: strap, handle: handle),
                entry(.reply, seconds + 1, call: 2, value: value),
            ])
    }

    @Test func `times, numbers of calls and handles are no difference`() {
        #expect(
            recording(handle: 9, value: [1], seconds: 5).differences(from: recording(handle: 3, value: [1])).isEmpty)
    }

    @Test func `another value is told with the types of its attribute`() {
        let found = recording(handle: 3, value: [2]).differences(from: recording(handle: 3, value: [1]))
        #expect(
            found.map(\.description) == [
                "- 1.000 F0:00:00:00:00:01 read 180f/2a19 = 01", "+ 1.000 F0:00:00:00:00:01 read 180f/2a19 = 02",
            ])
        #expect(
            recording(handle: 3, value: [2])
                .differences(from: recording(handle: 3, value: [1]), ignoring: .values).isEmpty)
    }

    @Test func `a call that fails differs from one that succeeds, by the code`() {
        var failed = recording(handle: 3, value: [1])
        failed.entries[3] = entry(.reply, 2, call: 2, error: BLEError(.timedOut, "any text"))
        #expect(
            failed.differences(from: recording(handle: 3, value: [1])).map(\.text)
                == ["read 180f/2a19 = 01", "read 180f/2a19 ! timedOut"])
    }

    @Test func `the order among peripherals is none, that of one is`() {
        func heard(_ ids: [DeviceID]) -> Recording {
            Recording(Recording.Header(stack: "Test"), entries: ids.map { entry(.connect, 1, of: $0) })
        }
        let other: DeviceID = "F0:00:00:00:00:02"
        #expect(heard([strap, other]).differences(from: heard([other, strap])).isEmpty)
        #expect(heard([strap, strap]).differences(from: heard([strap])).count == 1)
    }

    @Test func `an advertisement that is repeated, or stronger, is none`() {
        func heard(_ strengths: [Int], name: String = "A") -> Recording {
            Recording(
                Recording.Header(stack: "Test"),
                entries: strengths.map { strength in
                    var entry = entry(.advertisement, 1, of: strap)
                    entry.advertisement = Advertisement(localName: name, rssi: strength)
                    return entry
                })
        }
        #expect(heard([-50, -60, -70]).differences(from: heard([-40])).isEmpty)
        #expect(heard([-50], name: "B").differences(from: heard([-50])).count == 2)
        #expect(heard([-50], name: "B").differences(from: heard([-50]), ignoring: .advertisements).isEmpty)
    }

    /// A recording of values, each of 4 bytes.
    private func values(_ numbers: some Sequence<Int>) -> Recording {
        Recording(
            Recording.Header(stack: "Test"),
            entries: numbers.enumerated().map { position, number in
                let bytes = withUnsafeBytes(of: UInt32(number), Array.init)
                return entry(.value, Double(position), of: strap, handle: 3, value: bytes)
            })
    }

    @Test(arguments: [20_000, 10]) func `two changes in a long recording are two, in order`(distinct: Int) {
        func changed(_ positions: Set<Int>) -> Recording {
            values((0..<20_000).map { positions.contains($0) ? 1_000_000 + $0 : $0 % distinct })
        }
        let found = changed([3, 19_990]).differences(from: changed([]))
        #expect(found.map(\.isAdded) == [false, true, false, true])
        #expect(found.map(\.time) == [.seconds(3), .seconds(3), .seconds(19_990), .seconds(19_990)])
    }

    @Test func `the differences are as few as possible, and lead from one recording to the other`() {
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<200 {
            let old = (0..<Int.random(in: 0...30, using: &generator)).map { _ in
                Int.random(in: 0...4, using: &generator)
            }
            let new = (0..<Int.random(in: 0...30, using: &generator)).map { _ in
                Int.random(in: 0...4, using: &generator)
            }
            let found = values(new).differences(from: values(old))
            #expect(found.count == new.difference(from: old).count)
            #expect(applied(found, to: old) == new)
        }
    }

    @Test func `many changes among repeated values leave most of them`() {
        let old = (0..<30_000).map { $0 * $0 % 61 }
        let new = old.enumerated().filter { $0.offset % 20 != 7 }.map { $0.offset % 20 == 3 ? 100 : $0.element }
        let found = values(new).differences(from: values(old))
        #expect(applied(found, to: old) == new)
        #expect(found.count < old.count / 2, "\(found.count)")
    }

    /// Applies differences to the values of a recording. The time of each is its position.
    private func applied(_ differences: [RecordingDifference], to old: [Int]) -> [Int] {
        func position(_ difference: RecordingDifference) -> Int { Int(difference.time.components.seconds) }
        func number(_ difference: RecordingDifference) -> Int {
            let digits = difference.text.suffix(8)
            return Int(UInt32(digits, radix: 16)?.byteSwapped ?? 0)
        }
        let removed = Set(differences.filter { !$0.isAdded }.map(position))
        var result = old.indices.filter { !removed.contains($0) }.map { old[$0] }
        for difference in differences where difference.isAdded {
            result.insert(number(difference), at: min(position(difference), result.count))
        }
        return result
    }

    /// Each number is once in what follows the one before, and twice in what follows the one before that.
    @Test func `recordings that were made to be compared slowly are compared`() {
        func made(_ offset: Int) -> Recording {
            var numbers: [Int] = []
            for number in 0..<20_000 {
                let other = 1_000_000 + offset + 2 * number
                numbers += [number + 1, other, number, other + 1]
            }
            return values(numbers)
        }
        #expect(made(0).differences(from: made(100_000)).count == 80_000)
    }

    @Test func `a signal strength is no difference`() {
        func strength(_ value: Int) -> Recording {
            var reply = entry(.reply, 1, call: 1)
            reply.number = value
            return Recording(
                Recording.Header(stack: "Test"), entries: [entry(.signalStrength, 0, call: 1, of: strap), reply])
        }
        #expect(strength(-50).differences(from: strength(-60)).isEmpty)
    }

    @Test func `what a host serves and advertises, and what a scan looks for, are told`() {
        func served(_ name: String, _ uuid: BluetoothUUID) -> Recording {
            var (register, advertise, scan) = (
                entry(.register, 0, call: 1), entry(.advertise, 1, call: 2), entry(.scan, 2)
            )
            register.services = GATTDatabase(services: [GATTService(uuid: uuid, handle: 1, characteristics: [])])
            advertise.advertisement = Advertisement(localName: name)
            scan.filter = DiscoveryFilter(services: [uuid])
            return Recording(Recording.Header(stack: "Test"), entries: [register, advertise, scan])
        }
        #expect(served("A", .battery).differences(from: served("B", .heartRate)).count == 6)
    }

    @Test func `long recordings that have nothing in common are compared in a moment`() {
        #expect(values(0..<20_000).differences(from: values(1_000_000..<1_020_000)).count == 40_000)
    }

    @Test func `a packet in a channel of a host is of the central that opened the channel`() {
        func sent(_ bytes: [UInt8]) -> Recording {
            Recording(
                Recording.Header(stack: "Test"),
                entries: [
                    entry(.acceptChannel, 0, call: 1, of: strap), entry(.reply, 0, call: 1),
                    entry(.packetReceived, 1, call: 1, value: bytes),
                ])
        }
        #expect(sent([2]).differences(from: sent([1])).map(\.peripheral) == [strap, strap])
    }
}
