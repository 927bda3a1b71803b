import BLE
import BLEFeatures
import BLESimulation
import BLETestSupport
import Testing

/// Line transactions with a car's adapter, and vendors.
@Suite(.hangLimit) struct ELM327Tests {
    private let world: SimulatedWorld
    private static let service = BluetoothUUID(0xFFF0)
    private static let notifying = BluetoothUUID(0xFFF1)
    /// A timeout that nothing else has. Once something sleeps for it, the command is in the queue.
    private static let queued = Duration.seconds(101)

    init() async throws { world = try await SimulatedWorld() }

    private struct Car {
        let peripheral: Peripheral
        let grip: SimulatedPeripheral
        let commands: SharedValue<[String]>

        func says(_ text: String) async { await grip.notify(Array(text.utf8), from: ELM327Tests.notifying) }
        func asked(_ count: Int) async { await until { commands.value.count >= count } }
    }

    private func car(_ advertisement: Advertisement? = nil) async throws -> Car {
        let commands = SharedValue<[String]>([])
        let (peripheral, grip) = try await world.add(
            PeripheralDefinition(
                advertisement: advertisement
                    ?? Advertisement(localName: "OBDII", rssi: -50, serviceUUIDs: [Self.service]),
                services: [
                    ServiceDefinition(
                        Self.service,
                        characteristics: [
                            CharacteristicDefinition(Self.notifying, .notify),
                            CharacteristicDefinition(
                                BluetoothUUID(0xFFF2), [.write, .writeWithoutResponse],
                                onWrite: { (bytes, _) throws(ATTError) in
                                    commands.change { $0.append(String(decoding: bytes, as: UTF8.self)) }
                                }),
                        ])
                ]))
        return Car(peripheral: peripheral, grip: grip, commands: commands)
    }

    @Test func `a response is collected up to its prompt, however it is split`() async throws {
        let car = try await car()
        let adapter = ELM327(car.peripheral)
        let waiting = Task { try await adapter.send("010C") }
        await car.asked(1)
        #expect(car.commands.value == ["010C\r\n"])
        for part in ["010C\r", "41 0C", " 1A F8\r\r", ">"] { await car.says(part) }
        #expect(try await waiting.value == ["41 0C 1A F8"])
    }

    @Test func `one command is under way at a time, first come, first served`() async throws {
        let car = try await car()
        let adapter = ELM327(car.peripheral)
        var waiting: [Task<[String], any Error>] = []
        for command in ["A", "B", "C"] {
            waiting.append(Task { try await adapter.send(command, timeout: Self.queued) })
            await world.clock.sleepers(waiting.count, for: Self.queued)
        }
        for (number, command) in ["A", "B", "C"].enumerated() {
            await car.asked(number + 1)
            #expect(car.commands.value.count == number + 1)
            await car.says("\(command)!\r>")
            #expect(try await waiting[number].value == ["\(command)!"])
        }
    }

    @Test func `a command without its prompt times out, and is named`() async throws {
        let car = try await car()
        let adapter = ELM327(car.peripheral)
        let waiting = Task { try await adapter.send("ATZ") }
        await car.asked(1)
        await car.says("ELM327")
        world.clock.advance(by: .seconds(10))
        let error = await expectError(.commandTimedOut) { try await waiting.value }
        #expect(error?.message.contains("\"ATZ\"") == true)
    }

    @Test func `a queued command survives a drop, the one under way does not`() async throws {
        let car = try await car()
        let adapter = ELM327(car.peripheral)
        let first = Task { try await adapter.send("A") }
        await car.asked(1)
        let second = Task { try await adapter.send("B", timeout: Self.queued) }
        await world.clock.sleepers(1, for: Self.queued)
        await car.says("half a resp")
        await car.grip.dropLink()
        await expectError(.disconnected) { try await first.value }
        await car.asked(2)
        await car.says("B!\r>")
        #expect(try await second.value == ["B!"])
    }

    @Test func `a command sent right after the link has gone goes over a new one`() async throws {
        let car = try await car()
        let adapter = ELM327(car.peripheral)
        let first = Task { try await adapter.send("A") }
        await car.asked(1)
        await car.says(">")
        _ = try await first.value
        try await car.peripheral.disconnect()
        let second = Task { try await adapter.send("B") }
        await car.asked(2)
        await car.says("B!\r>")
        #expect(try await second.value == ["B!"])
    }

    @Test func `a peripheral that advertises more data later is claimed then`() async throws {
        var advertisement = Self.goTenna
        advertisement.manufacturerData = [:]
        let mesh = await world.radio.add(PeripheralDefinition(advertisement: advertisement, services: []))
        var owners: [String] = []
        try await world.asTimePasses {
            for try await found in Vendors([GoTennaMesh()]).discoveries(world.central) {
                owners.append(found.vendor?.name ?? "nobody")
                if found.vendor != nil { break }
                await mesh.setAdvertisement(Self.goTenna)
            }
        }
        #expect(owners == ["nobody", "goTenna Mesh"])
    }

    @Test func `sending while disconnected connects`() async throws {
        let car = try await car()
        let adapter = ELM327(car.peripheral)
        for command in ["A", "B"] {
            let waiting = Task { try await adapter.send(command) }
            await until { car.commands.value.last == command + "\r\n" }
            await car.says("ok\r>")
            #expect(try await waiting.value == ["ok"])
            try await car.peripheral.disconnect()
        }
    }

    @Test func `what cannot be one command is refused`() async throws {
        let car = try await car()
        let adapter = ELM327(car.peripheral)
        for command in ["A\rB", "A\nB", "A>B"] {
            await expectError(.invalidArgument) { try await adapter.send(command) }
        }
        #expect(car.commands.value.isEmpty)
        let waiting = Task { try await adapter.send("A") }
        await car.asked(1)
        await car.says(">")
        #expect(try await waiting.value == [])
    }

    // MARK: Vendors

    static let goTenna = Advertisement(
        rssi: -50, serviceUUIDs: GoTennaMesh().services, manufacturerData: [0xFFFE: [0x02]])

    @Test func `the first vendor that claims a peripheral gets it, and unclaimed peripherals are reported as well`()
        async throws
    {
        let car = try await car()
        let mesh = await world.radio.add(PeripheralDefinition(advertisement: Self.goTenna, services: []))
        let other = await world.radio.add(
            PeripheralDefinition(advertisement: Advertisement(localName: "?", rssi: -50), services: []))
        let vendors = Vendors([GoTennaMesh(), ELM327Vendor()])
        var owners: [Peripheral.ID: String] = [:]
        try await world.asTimePasses {
            for try await found in vendors.discoveries(world.central) {
                owners[found.discovery.peripheral.id] = found.vendor?.name ?? "nobody"
                let device = try await found.device()
                #expect((device is ELM327) == (found.discovery.peripheral == car.peripheral))
                if owners.count == 3 { break }
            }
        }
        #expect(owners == [car.peripheral.id: "ELM327", mesh.id: "goTenna Mesh", other.id: "nobody"])
    }

    @Test func `only what is claimed, when asked for`() async throws {
        _ = await world.radio.add(
            PeripheralDefinition(advertisement: Advertisement(localName: "?", rssi: -50), services: []))
        let car = try await car()
        try await world.asTimePasses {
            for try await found in Vendors([ELM327Vendor()]).discoveries(world.central, onlyClaimed: true) {
                #expect(found.discovery.peripheral == car.peripheral)
                break
            }
        }
    }

    @Test func `goTenna's manufacturer data must be exactly theirs`() {
        #expect(GoTennaMesh().claims(Self.goTenna))
        var other = Self.goTenna
        other.manufacturerData = [0xFFFE: [0x02, 0x00]]
        #expect(!GoTennaMesh().claims(other))
        other.manufacturerData = [0xFEFF: [0x02]]
        #expect(!GoTennaMesh().claims(other))
        other = Self.goTenna
        other.serviceUUIDs = []
        #expect(!GoTennaMesh().claims(other))
    }
}
