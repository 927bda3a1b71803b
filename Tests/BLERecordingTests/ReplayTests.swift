import BLE
import BLEProfiles
import BLERecording
import BLESimulation
import BLETesting
import BLETestSupport
import Testing

/// A radio with the peripherals of a recording does what was recorded.
@Suite(.hangLimit) struct ReplayTests {
    private static let sensor = BluetoothUUID(0xFF00)
    private static let reading = Characteristic<[UInt8]>(BluetoothUUID(0xFF01), service: sensor)
    private static let control = Characteristic<[UInt8]>(BluetoothUUID(0xFF02), service: sensor)
    private static let stream = Characteristic<[UInt8]>(BluetoothUUID(0xFF03), service: sensor)

    /// A sensor whose every read is another, which refuses to be written 0, and sends 1, 2, 3 … each second.
    private static func definition() -> PeripheralDefinition {
        let count = SharedValue<UInt8>(0)
        return PeripheralDefinition(
            address: "F0:00:00:00:00:01",
            advertisement: Advertisement(localName: "Sensor", rssi: -60, serviceUUIDs: [sensor]),
            services: [
                ServiceDefinition(
                    sensor,
                    characteristics: [
                        CharacteristicDefinition(
                            reading.key.characteristic, [.read],
                            onRead: { _ throws(ATTError) in
                                let next = count.change { number in
                                    number += 1
                                    return number
                                }
                                if next == 3 { throw .unlikelyError }
                                return [next]
                            }),
                        CharacteristicDefinition(
                            control.key.characteristic, [.write],
                            onWrite: { value, _ throws(ATTError) in
                                if value == [0] { throw .valueNotAllowed }
                            }),
                        CharacteristicDefinition(
                            stream.key.characteristic, [.notify],
                            descriptors: [.userDescription("Numbers")],
                            onSubscribe: { notifier in
                                for number in UInt8(1)... {
                                    try await notifier.clock.sleep(for: .seconds(1))
                                    await notifier.notify([number])
                                }
                            }),
                    ])
            ])
    }

    /// A program that meets everything: failures, a link that ends, a connection that is made again.
    private static func program(_ central: Central, _ clock: ManualClock) async throws -> [String] {
        var seen: [String] = []
        func note(_ text: () async throws -> String) async {
            do { seen.append(try await text()) } catch { seen.append("\((error as? BLEError)?.code.rawValue ?? "?")") }
        }
        let sensor = try await central.first(matching: .name("Sensor"), timeout: .seconds(10)).peripheral
        await note {
            try await sensor.connect()
            return "connected"
        }
        await note {
            try await sensor.connect()
            return "connected"
        }
        for _ in 0..<4 { await note { "\(try await sensor.read(reading))" } }
        for value: UInt8 in [0, 1] {
            await note {
                try await sensor.write([value], to: control)
                return "written"
            }
        }
        await note {
            for try await value in try await sensor.notifications(stream) { seen.append("value \(value)") }
            return "ended"
        }
        await note { "\(try await sensor.read(reading))" }
        return seen
    }

    /// Records the program beside a sensor with faults.
    private func recorded() async throws -> (Recording, [String]) {
        let recorder = Recorder()
        let world = try await RecordedWorld(recorder)
        let sensor = await world.radio.add(Self.definition())
        await sensor.fail(.connect, .nth(1))
        await sensor.delay(.connect, .nth(2), by: .seconds(3))
        await sensor.delay(.read, .nth(2), by: .milliseconds(700))
        await sensor.whileConnected { sensor in
            try? await world.clock.sleep(for: .seconds(8))
            await sensor.dropLink()
        }
        let seen = try await run(world)
        return (recorder.recording, seen)
    }

    private func run(_ world: RecordedWorld) async throws -> [String] {
        let (central, clock) = (world.central, world.clock)
        let seen = try await world.during(.seconds(60)) { try await Self.program(central, clock) }
        await central.shutDown()
        return seen
    }

    @Test func `a program meets again what it met`() async throws {
        let (recording, seen) = try await recorded()
        #expect(
            seen == [
                "connectionFailed", "connected", "[1]", "[2]", "attributeError", "[4]", "attributeError", "written",
                "value [1]", "value [2]", "value [3]", "value [4]", "value [5]", "value [6]", "value [7]",
                "disconnected", "[5]",
            ])
        let recorder = Recorder()
        let again = try await run(RecordedWorld(replaying: recording, recorder))
        #expect(again == seen)
        #expect(recorder.recording.differences(from: recording).map(\.description) == [])
        // At the same times, too.
        func times(_ recording: Recording) -> [Duration] {
            recording.entries.filter { [.value, .linkEnded].contains($0.what) }.map(\.time)
        }
        #expect(times(recorder.recording) == times(recording))
    }

    @Test func `of two centrals on one recorder, each is replayed on its own`() async throws {
        let recorder = Recorder()
        let world = try await RecordedWorld(recorder)
        let second = try await Central(
            backend: .recording(.simulated(world.radio), to: recorder), configuration: .quiet(clock: world.clock))
        let (battery, first) = try await world.addBattery()
        let other = try await world.during(.seconds(1)) { try await second.find(battery.id) }
        try await world.during(.seconds(1)) {
            _ = try await first.read(.batteryLevel)
            await battery.notify([80], from: Characteristic.batteryLevel.key)
            _ = try await other.read(.batteryLevel)
        }
        await world.central.shutDown()
        await second.shutDown()
        let recordings = try Recording(lines: recorder.recording.lines).backends
        #expect(recordings.count == 2)
        for (recording, level) in zip(recordings, [90, 80]) {
            let again = try await RecordedWorld(replaying: recording)
            let read = try await again.during(.seconds(1)) {
                try await again.find(battery.id).read(.batteryLevel)
            }
            #expect(read == level)
            await again.central.shutDown()
        }
    }

    @Test func `a file, and one without private data, are replayed as well`() async throws {
        let (recording, seen) = try await recorded()
        for read in [try Recording(lines: recording.lines), recording.redacted([.addresses])] {
            #expect(try await run(RecordedWorld(replaying: read)) == seen)
        }
    }

    @Test func `a program that does something else gets the last value, and no failures`() async throws {
        let (recording, _) = try await recorded()
        let world = try await RecordedWorld(replaying: recording)
        let central = world.central
        let values = try await world.during(.seconds(60)) {
            let sensor = try await central.first(matching: .name("Sensor"), timeout: .seconds(10)).peripheral
            try? await sensor.connect()
            var values: [[UInt8]?] = []
            for _ in 0..<8 { values.append(try? await sensor.read(Self.reading)) }
            return values
        }
        #expect(values == [[1], [2], nil, [4], [5], [5], [5], [5]])
        await central.shutDown()
    }

    @Test func `an adapter that was switched off is switched off`() async throws {
        let recorder = Recorder()
        let world = try await RecordedWorld(recorder)
        try await world.readBattery()
        await world.clock.run(for: .seconds(5))
        await world.radio.setPowered(false)
        await world.clock.run(for: .seconds(5))
        await world.radio.setPowered(true)
        await world.clock.run(for: .seconds(5))
        await world.radio.stop()
        await world.clock.run(for: .seconds(5))
        await world.radio.restart()
        await world.clock.run(for: .seconds(1))
        await world.central.shutDown()

        let again = try await RecordedWorld(replaying: recorder.recording)
        var states: [AdapterState] = []
        for seconds in [2, 5, 5, 5, 5] {
            await again.clock.run(for: .seconds(seconds))
            states.append(await again.central.adapterState)
        }
        #expect(states == [.poweredOn, .poweredOff, .poweredOn, .resetting, .poweredOn])
        await again.central.shutDown()
    }

    @Test func `new firmware is found on the same link, at its time`() async throws {
        let recorder = Recorder()
        let world = try await RecordedWorld(recorder)
        let (battery, peripheral) = try await world.addBattery()
        _ = try await peripheral.services()
        await world.clock.run(for: .seconds(4))
        await battery.setServices([
            .battery(level: 80), ServiceDefinition(Self.sensor, characteristics: []),
        ])
        await world.clock.run(for: .seconds(1))
        _ = try await peripheral.services()
        await world.central.shutDown()

        let again = try await RecordedWorld(replaying: recorder.recording)
        let replayed = try await again.find(battery.id)
        #expect(try await replayed.services().map(\.uuid) == [.battery])
        await again.clock.run(for: .seconds(5))
        #expect(try await replayed.services().map(\.uuid) == [.battery, Self.sensor])
        await again.central.shutDown()
    }

    @Test func `a later link has the services that it had`() async throws {
        let recorder = Recorder()
        let world = try await RecordedWorld(recorder)
        let (battery, peripheral) = try await world.addBattery()
        #expect(try await peripheral.services().map(\.uuid) == [.battery])
        await world.clock.run(for: .seconds(1))
        await battery.dropLink()
        await battery.setServices([ServiceDefinition(Self.sensor, characteristics: [])])
        await world.clock.run(for: .seconds(1))
        #expect(try await peripheral.services().map(\.uuid) == [Self.sensor])
        await world.central.shutDown()

        let again = try await RecordedWorld(replaying: recorder.recording)
        let replayed = try await again.find(battery.id)
        #expect(try await replayed.services().map(\.uuid) == [.battery])
        await again.clock.run(for: .seconds(2))
        #expect(try await replayed.services().map(\.uuid) == [Self.sensor])
        await again.central.shutDown()
    }

    @Test func `a radio that was off at first is, and one that was only mentioned is not there`() async throws {
        var off = RecordedEntry(.adapterState, at: .milliseconds(50))
        off.text = AdapterState.poweredOff.rawValue
        let recording = Recording(
            Recording.Header(stack: "Test"),
            entries: [off, RecordedEntry(.unpair, call: 1, peripheral: "F0:00:00:00:00:09")])
        let radio = try await SimulatedRadio(replaying: recording, clock: ManualClock())
        let central = try await Central(backend: .simulated(radio), configuration: .quiet())
        #expect(await central.adapterState == .poweredOff)
        await radio.setPowered(true)
        let found = try await central.discoveries(for: .milliseconds(1)).reduce(into: 0) { count, _ in count += 1 }
        #expect(found == 0)
        await central.shutDown()
    }

    @Test func `a radio that is no longer used is gone, with its recording`() async throws {
        let (recording, _) = try await recorded()
        weak var radio: SimulatedRadio?
        do {
            let replaying = try await SimulatedRadio(replaying: recording, clock: ManualClock())
            radio = replaying
            #expect(radio != nil)
        }
        await until { radio == nil }
    }

    @Test func `an id that is no address cannot be replayed`() async throws {
        let recording = Recording(
            Recording.Header(stack: "Other"), entries: [RecordedEntry(.advertisement, peripheral: "strap")])
        let error = await #expect(throws: BLEError.self) { _ = try await SimulatedRadio(replaying: recording) }
        #expect(error?.code == .invalidArgument)
    }
}
