import BLE
import BLEProfiles
import BLERecording
import BLESimulation
import BLETestSupport
import FoundationEssentials
import Testing

/// A recording that was exported and imported again.
@Suite(.hangLimit) struct BTSnoopRoundTripTests {
    private static let id: DeviceID = "F0:00:00:00:00:01"
    private static let other = BluetoothUUID("6e400001-b5a3-f393-e0a9-e50e24dcca9e") ?? BluetoothUUID(0)

    /// Services with everything that a tree can have: 16-bit and 128-bit types, a secondary service that is included,
    /// several characteristics of a type, extended properties and descriptors.
    static let database = GATTDatabase(services: [
        GATTService(
            uuid: BluetoothUUID(0x180F), handle: 10,
            characteristics: [
                GATTCharacteristic(
                    uuid: BluetoothUUID(0x2A19), handle: 11, properties: [.read, .notify],
                    descriptors: [
                        GATTDescriptor(uuid: BluetoothUUID(0x2902), handle: 13),
                        GATTDescriptor(uuid: BluetoothUUID(0x2904), handle: 14),
                    ])
            ]),
        GATTService(
            uuid: other, handle: 20,
            characteristics: [
                GATTCharacteristic(uuid: other, handle: 22, properties: [.write, .writeWithoutResponse]),
                GATTCharacteristic(
                    uuid: BluetoothUUID(0xFF01), handle: 24,
                    properties: [.read, .write, .indicate, .extendedProperties, .reliableWrite],
                    descriptors: [
                        GATTDescriptor(uuid: BluetoothUUID(0x2902), handle: 26),
                        GATTDescriptor(uuid: BluetoothUUID(0x2900), handle: 27),
                        GATTDescriptor(uuid: other, handle: 28),
                    ]),
                GATTCharacteristic(uuid: BluetoothUUID(0xFF01), handle: 29, properties: [.read]),
            ], includedHandles: [40]),
        GATTService(
            uuid: BluetoothUUID(0xFF00), handle: 40, isPrimary: false,
            characteristics: [GATTCharacteristic(uuid: BluetoothUUID(0xFF02), handle: 41, properties: .read)]),
        GATTService(uuid: BluetoothUUID(0xFF03), handle: 0xFFFF, characteristics: []),
    ])

    /// Builds a recording, in which a call ends a millisecond after it begins.
    struct Builder {
        var recording = Recording(Recording.Header(stack: "test", began: 1_700_000_000.25))
        private var calls = 0
        private var time = Duration.zero

        mutating func add(_ entry: RecordedEntry) {
            var entry = entry
            time += .milliseconds(1)
            entry.time = time
            recording.entries.append(entry)
        }

        mutating func call(
            _ what: RecordedEntry.What, handle: UInt16? = nil, value: [UInt8]? = nil, offset: Int? = nil,
            gives result: [UInt8]? = nil, number: Int? = nil, services: GATTDatabase? = nil, error: BLEError? = nil
        ) {
            calls += 1
            add(RecordedEntry(what, call: calls, peripheral: id, handle: handle, value: value, offset: offset))
            var reply = RecordedEntry(.reply, call: calls, value: result, number: number, error: error)
            reply.services = services
            add(reply)
        }

        mutating func event(_ what: RecordedEntry.What, handle: UInt16? = nil, value: [UInt8]? = nil) {
            add(RecordedEntry(what, peripheral: id, handle: handle, value: value))
        }

        mutating func advertisement(_ advertisement: Advertisement) {
            var entry = RecordedEntry(.advertisement, peripheral: id)
            entry.advertisement = advertisement
            add(entry)
        }

        mutating func linkEnded(_ reason: DisconnectReason) {
            add(
                RecordedEntry(
                    .linkEnded, peripheral: id,
                    error: BLEError(.disconnected, "the link ended", disconnectReason: reason)))
        }
    }

    /// Exports and imports.
    private func again(_ recording: Recording) throws -> Recording { try Recording(btsnoop: recording.btsnoop()) }

    /// What of a recording a capture keeps, in lines without the texts of errors.
    static func told(_ recording: Recording) -> [String] {
        recording.entries.map { entry in
            var parts = ["\(entry.time.components.attoseconds / 1_000_000_000_000)", entry.what.rawValue]
            parts += [entry.call, entry.handle.map(Int.init), entry.offset, entry.number].map { "\($0 ?? -1)" }
            parts.append("\(entry.value.map { Hex.string($0) } ?? "none")")
            if let services = entry.services { parts.append("\(services)") }
            if let error = entry.error {
                parts.append(
                    "\(error.code) \(error.attError?.description ?? "") \(error.disconnectReason?.rawValue ?? "")")
            }
            return parts.joined(separator: " ")
        }
    }

    private func expectSame(_ recording: Recording, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let again = try again(recording)
        for (one, other) in zip(Self.told(again), Self.told(recording)) {
            #expect(one == other, sourceLocation: sourceLocation)
        }
        #expect(
            again.entries.map(\.advertisement) == recording.entries.map(\.advertisement), sourceLocation: sourceLocation
        )
        #expect(again.entries.count == recording.entries.count, sourceLocation: sourceLocation)
        #expect(again.header.began == recording.header.began, sourceLocation: sourceLocation)
    }

    // MARK: Tests

    @Test func `a session is the same, with its times`() throws {
        var session = Builder()
        session.call(.connect)
        session.call(.attMTU, number: 185)
        session.call(.discover, services: Self.database)
        session.call(.signalStrength, number: -71)
        session.call(.read, handle: 11, gives: [90])
        session.call(.read, handle: 24, gives: [UInt8](0...250) + [UInt8](0...250))
        session.call(.read, handle: 24, offset: 5, gives: [1, 2, 3])
        session.call(.read, handle: 29, gives: [])
        session.call(.read, handle: 29, gives: [UInt8](repeating: 7, count: 184))
        session.call(.read, handle: 29, error: BLEError(ATTError.insufficientEncryption))
        session.call(.pair)
        session.call(.write, handle: 22, value: [1])
        session.call(.write, handle: 22, value: [UInt8](repeating: 9, count: 400))
        session.call(.write, handle: 22, value: [2], error: BLEError(ATTError(rawValue: 0x80)))
        session.call(.reliableWrite, handle: 24, value: [1, 2, 3, 4])
        session.call(.reliableWrite, handle: 24, value: [UInt8](repeating: 8, count: 300))
        session.call(.command, handle: 22, value: [5, 6])
        // It has no response: it ends when it begins.
        session.recording.entries[session.recording.entries.count - 2].time += .milliseconds(1)
        session.call(.readDescriptor, handle: 14, gives: [4, 0, 0, 0, 0, 0, 0])
        session.call(.writeDescriptor, handle: 28, value: [3])
        session.call(.subscribe, handle: 11)
        session.event(.value, handle: 11, value: [89])
        session.event(.value, handle: 11, value: [UInt8](repeating: 1, count: 182))
        session.call(.unsubscribe, handle: 11)
        session.call(.subscribe, handle: 24)
        session.event(.value, handle: 24, value: [])
        session.linkEnded(.remote)
        try expectSame(session.recording)
    }

    @Test(arguments: [23, 24, 100, 517]) func `a tree is the same with any ATT MTU`(mtu: Int) throws {
        var session = Builder()
        session.call(.connect)
        session.call(.attMTU, number: mtu)
        session.call(.discover, services: Self.database)
        try expectSame(session.recording)
    }

    @Test func `a tree of tens of thousands of services is exported in a moment`() throws {
        let included = (1...20_000).map { UInt16($0) }
        let services = (1...40_000).map { handle in
            GATTService(uuid: BluetoothUUID(0xFF00), handle: UInt16(handle), characteristics: [])
        }
        let last = GATTService(
            uuid: BluetoothUUID(0xFF01), handle: 40_001, characteristics: [], includedHandles: included)
        var session = Builder()
        session.call(.connect)
        let database = GATTDatabase(services: services + [last])
        session.call(.discover, services: database)
        #expect(try again(session.recording).entries.last?.services == database)
    }

    @Test func `services that changed are discovered again`() throws {
        let fewer = GATTDatabase(services: Array(Self.database.services.prefix(1)))
        var session = Builder()
        session.call(.connect)
        session.call(.discover, services: Self.database)
        session.event(.servicesChanged)
        session.call(.discover, services: fewer)
        session.event(.servicesChanged)
        session.call(.discover, services: Self.database)
        session.call(.read, handle: 41, gives: [1])
        try expectSame(session.recording)
    }

    @Test(arguments: [DisconnectReason.remote, .timeout, .authentication, .local, .adapterGone, .unknown])
    func `a link ends for the same reason`(reason: DisconnectReason) throws {
        var session = Builder()
        session.call(.connect)
        session.linkEnded(reason)
        session.call(.connect)
        session.linkEnded(.remote)
        try expectSame(session.recording)
    }

    @Test func `a link that the program ends is ended by a call`() throws {
        var session = Builder()
        session.call(.connect)
        session.add(RecordedEntry(.disconnect, call: 2, peripheral: Self.id))
        session.linkEnded(.local)
        session.recording.entries[3].time = .milliseconds(5)
        session.add(RecordedEntry(.reply, call: 2))
        session.recording.entries[4].time = .milliseconds(5)
        try expectSame(session.recording)
    }

    @Test func `what the end of a link cut short fails`() throws {
        var session = Builder()
        session.call(.connect)
        session.call(.discover, services: Self.database)
        session.add(RecordedEntry(.read, call: 3, peripheral: Self.id, handle: 11))
        session.linkEnded(.timeout)
        session.add(
            RecordedEntry(
                .reply, call: 3, error: BLEError(.disconnected, "the link ended", disconnectReason: .timeout)))
        let again = try again(session.recording)
        let ends = again.entries.suffix(2)
        #expect(ends.map(\.what) == [.reply, .linkEnded])
        #expect(ends.map { $0.error?.disconnectReason } == [.timeout, .timeout])
        #expect(ends.first?.call == 3)
    }

    @Test(arguments: [BLEError.Code.connectionFailed, .connectionCancelled])
    func `a failed attempt to connect fails again`(code: BLEError.Code) throws {
        var session = Builder()
        session.call(.connect, error: BLEError(code, "no link"))
        session.call(.connect)
        try expectSame(session.recording)
    }

    @Test(arguments: [BLEError.Code.pairingFailed, .pairingRejected])
    func `a failed pairing fails again`(code: BLEError.Code) throws {
        var session = Builder()
        session.call(.connect)
        session.call(.pair, error: BLEError(code, "no pairing"))
        session.call(.pair)
        try expectSame(session.recording)
    }

    @Test func `calls at the same time are sent one after the other`() throws {
        var session = Builder()
        session.call(.connect)
        session.call(.discover, services: Self.database)
        session.add(RecordedEntry(.read, call: 3, peripheral: Self.id, handle: 11))
        session.add(RecordedEntry(.read, call: 4, peripheral: Self.id, handle: 29))
        session.add(RecordedEntry(.reply, call: 4, value: [4]))
        session.add(RecordedEntry(.reply, call: 3, value: [3]))
        let entries = try again(session.recording).entries.suffix(4)
        #expect(entries.map(\.what) == [.read, .reply, .read, .reply])
        #expect(entries.map(\.handle) == [29, nil, 11, nil])
        #expect(entries.map(\.value) == [nil, [4], nil, [3]])
    }

    @Test func `advertisements are the same, in packets of either kind`() throws {
        var session = Builder()
        var advertisement = Advertisement(
            localName: "Strap", rssi: -60, txPower: 4, serviceUUIDs: [BluetoothUUID(0x180D)],
            manufacturerData: [0x004C: [2, 21]], appearance: Appearance(rawValue: 833), addressType: .random,
            isConnectable: true, flags: [.generalDiscoverable, .classicNotSupported])
        session.advertisement(advertisement)
        advertisement.manufacturerData = [0x004C: [2, 22], 0xFFFF: []]
        advertisement.rssi = nil
        session.advertisement(advertisement)
        // Longer than a legacy packet and its scan response.
        advertisement.serviceData = [Self.other: [UInt8](repeating: 5, count: 200)]
        advertisement.serviceUUIDs = Set((0..<20).map { BluetoothUUID(high: $0, low: 7) } + [BluetoothUUID(0x180D)])
        advertisement.advertisingInterval = .microseconds(625 * 100)
        advertisement.solicitedServiceUUIDs = [BluetoothUUID(0x1812)]
        advertisement.structures = [AdvertisingStructure(type: 0x24, bytes: [1, 2, 3])]
        session.advertisement(advertisement)
        advertisement.isConnectable = false
        session.advertisement(advertisement)
        try expectSame(session.recording)
    }

    @Test func `what has no packets is left out`() throws {
        var session = Builder()
        session.add(RecordedEntry(.adapterState, text: "poweredOn"))
        session.call(.systemProperties)
        session.call(.pairingState)
        session.call(.trust)
        session.call(.connect, error: BLEError(.poweredOff, "the adapter is powered off"))
        session.call(.read, handle: 3, error: BLEError(.notPermitted, "not permitted"))
        session.add(RecordedEntry(.connect, call: 90, peripheral: "no address"))
        session.add(RecordedEntry(.reply, call: 90))
        #expect(try again(session.recording).entries.isEmpty)
    }

    @Test func `a link without a beginning begins before its first use`() throws {
        var session = Builder()
        session.call(.read, handle: 11, gives: [1])
        let entries = try again(session.recording).entries
        #expect(entries.map(\.what) == [.connect, .reply, .read, .reply])
        #expect(entries.last?.value == [1])
        #expect(entries[2].handle == 11)
    }

    @Test func `packets into a socket are commands`() throws {
        var session = Builder()
        session.call(.connect)
        session.call(.discover, services: Self.database)
        session.call(.acquireWriting, handle: 22, number: 244)
        session.add(RecordedEntry(.packetSent, call: 3, value: [1, 2]))
        let entries = try again(session.recording).entries.suffix(2)
        #expect(entries.map(\.what) == [.command, .reply])
        #expect(entries.first?.handle == 22)
        #expect(entries.first?.value == [1, 2])
    }

    @Test func `a program meets in a replayed capture what it met before`() async throws {
        let recorder = Recorder()
        let world = try await RecordedWorld(recorder)
        _ = await world.radio.add(.battery(level: 77))
        let task = Task(executorPreference: world.radio.taskExecutor) { try await Self.program(world.central) }
        await world.clock.run(for: .seconds(30))
        let seen = try await task.value
        #expect(seen == [77])
        await world.central.shutDown()
        let clock = ManualClock()
        let again = try again(recorder.recording)
        let radio = try await SimulatedRadio(replaying: again, clock: clock)
        let replayed = try await RecordedWorld(Recorder(), on: radio, clock: clock)
        let repeated = Task(executorPreference: radio.taskExecutor) { try await Self.program(replayed.central) }
        await clock.run(for: .seconds(30))
        #expect(try await repeated.value == seen)
        await replayed.central.shutDown()
    }

    private static func program(_ central: Central) async throws -> [UInt8] {
        for try await found in central.discoveries() {
            return [try await found.peripheral.read(.batteryLevel)]
        }
        return []
    }
}
