import BLE
import BLESimulation
import BLETestSupport
import Testing

/// Several centrals at one host.
@Suite(.hangLimit) struct SimulatedCentralsTests {
    private static let output = Characteristic<[UInt8]>(BluetoothUUID(0xFFE2))
    private static let input = Characteristic<[UInt8]>(BluetoothUUID(0xFFE3))

    private let radio = SimulatedRadio()

    private let definition = PeripheralDefinition(
        advertisement: Advertisement(localName: "Host", serviceUUIDs: [BluetoothUUID(0xFFE0)]),
        services: [
            ServiceDefinition(
                BluetoothUUID(0xFFE0),
                characteristics: [
                    CharacteristicDefinition(output.key.characteristic, [.read, .notify], value: [0]),
                    CharacteristicDefinition(input.key.characteristic, [.write], value: [0]),
                ])
        ])

    private func withCentrals(
        _ count: Int, _ check: (PeripheralHost, ServedPeripheral, [Peripheral]) async throws -> Void
    ) async throws {
        let host = try await PeripheralHost(backend: .simulated(radio), configuration: .quiet())
        var centrals: [Central] = []
        do {
            try await host.withServed(definition) { served in
                var remotes: [Peripheral] = []
                for _ in 0..<count {
                    let central = try await Central(backend: .simulated(radio), configuration: .quiet())
                    centrals.append(central)
                    let remote = try await central.first(matching: .name("Host"), timeout: HangLimit.step).peripheral
                    try await remote.connect()
                    remotes.append(remote)
                }
                try await check(host, served, remotes)
            }
        } catch {
            for central in centrals { await central.shutDown() }
            await host.shutDown()
            throw error
        }
        for central in centrals { await central.shutDown() }
        await host.shutDown()
    }

    @Test func `values reach all, or the one that they are for, and the others stay when one leaves`() async throws {
        try await withCentrals(3) { host, served, remotes in
            #expect(await host.connectedCentrals.count == 3)
            var streams: [NotificationStream<[UInt8]>.AsyncIterator] = []
            for remote in remotes {
                streams.append(try await remote.notifications(Self.output).makeAsyncIterator())
            }
            let subscribers = try await served.subscribers(of: Self.output)
            #expect(Set(subscribers).count == 3)
            try await served.notify([1], from: Self.output)
            for index in streams.indices { #expect(try await streams[index].next() == [1]) }
            for (number, subscriber) in subscribers.enumerated() {
                try await served.notify([10 + UInt8(number)], from: Self.output, to: subscriber)
            }
            var own: Set<UInt8> = []
            for index in streams.indices {
                let value = try #require(try await streams[index].next())
                own.insert(value[0])
            }
            #expect(own == [10, 11, 12])
            try await remotes[0].disconnect()
            await until { await host.connectedCentrals.count == 2 }
            try await served.notify([2], from: Self.output)
            for index in 1...2 { #expect(try await streams[index].next() == [2]) }
            #expect(try await remotes[1].read(Self.output) == [0])
        }
    }

    @Test func `one whose requests are held up does not hold up another`() async throws {
        try await withCentrals(2) { host, _, remotes in
            let hosted = try #require(await radio.hostedPeripherals.first)
            let held = await hosted.hold(.write(of: Self.input), .next(1))
            let slow = Task { try await remotes[0].write([7], to: Self.input) }
            await held.disturbed()
            try await remotes[1].write([8], to: Self.input)
            await hosted.dropLink()
            await #expect(throws: BLEError.self) { try await slow.value }
            await until { await host.connectedCentrals.isEmpty }
        }
    }

    @Test func `a fault of a request ends the link of the central whose request it is`() async throws {
        try await withCentrals(2) { host, _, remotes in
            let hosted = try #require(await radio.hostedPeripherals.first)
            await hosted.dropLink(before: .request, .next(1))
            await #expect(throws: BLEError.self) { try await remotes[0].read(Self.output) }
            await until { await host.connectedCentrals.count == 1 }
            #expect(try await remotes[1].read(Self.output) == [0])
        }
    }

    @Test func `a peripheral has one link, and a second central waits for it`() async throws {
        let clock = ManualClock()
        let radio = SimulatedRadio(clock: clock)
        let battery = await radio.add(.battery())
        let one = try await Central(backend: .simulated(radio), configuration: .quiet(clock: clock))
        let two = try await Central(backend: .simulated(radio), configuration: .quiet(clock: clock))
        var remotes: [Peripheral] = []
        for central in [one, two] {
            for try await found in central.discoveries() {
                remotes.append(found.peripheral)
                break
            }
        }
        try await remotes[0].connect()
        let waiting = Task { [remotes] in try await remotes[1].connect() }
        await until { await remotes[1].connectionState == .connecting }
        try await remotes[0].disconnect()
        try await waiting.value
        #expect(await battery.isConnected)
        await one.shutDown()
        await two.shutDown()
    }
}
