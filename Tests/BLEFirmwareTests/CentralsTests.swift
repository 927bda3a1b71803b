import BLE
import BLEFirmware
import BLESimulation
import BLETesting
import Testing

/// A host that serves a device to two centrals.
@Suite(.hangLimit, .tracesFailures) struct CentralsTests {
    private func withCentrals(
        _ body: (
            _ world: SimulatedWorld, _ storage: MemoryFirmwareStorage, _ first: Peripheral, _ second: Peripheral
        ) async throws -> Void
    ) async throws {
        let world = try await SimulatedWorld()
        let host = try await PeripheralHost(
            backend: .simulated(world.radio), configuration: .init(clock: world.clock))
        var configuration = Central.Configuration()
        configuration.clock = world.clock
        let other = try await Central(backend: .simulated(world.radio), configuration: configuration)
        let storage = MemoryFirmwareStorage()
        let device = FirmwarePeripheral(storage)
        let serving = Task { try await host.serve(device.definition(name: "Device")) }
        async let heard = world.central.first(matching: .service(.smp)).peripheral
        async let heardToo = other.first(matching: .service(.smp)).peripheral
        await world.clock.run(for: .seconds(5))
        try await body(world, storage, try await heard, try await heardToo)
        serving.cancel()
        _ = await serving.result
        await other.shutDown()
        await host.shutDown()
    }

    @Test func `frames of two centrals do not mix`() async throws {
        try await withCentrals { _, _, first, second in
            let (one, two) = (FirmwareClient(first), FirmwareClient(second))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (client, name) in [(one, "a"), (two, "b")] {
                    group.addTask {
                        for number in 0..<50 {
                            let text = String(repeating: name, count: 400) + "\(number)"
                            let echo = try await client.echo(text)
                            #expect(echo == text)
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test func `one uploads, and the other is refused until its link ends`() async throws {
        try await withCentrals { _, storage, first, second in
            let (one, two) = (FirmwareClient(first), FirmwareClient(second))
            let (image, other) = (FirmwareImage.random(20_000), FirmwareImage.random(10_000, seed: 2))
            for try await step in one.upload(image) where step.sentBytes > 5_000 { break }
            let busy = await expectError(.managementFailed) { try await two.upload(other).finish() }
            #expect(busy?.managementFailure == SMPFailure(.busy) && busy?.isRetryable == true)
            await expectError(.managementFailed) { try await two.erase() }
            #expect(try await two.echo("a") == "a")
            // The other takes the upload over, where it was.
            try await first.disconnect()
            var progress = two.upload(image).makeAsyncIterator()
            let beginning = try await progress.next()
            #expect(beginning.map { $0.sentBytes > 5_000 } == true)
            while try await progress.next() != nil {}
            #expect(await storage.contents.secondary == image)
            try await one.upload(other).finish()
            #expect(await storage.contents.secondary == other)
        }
    }

    @Test func `a silent central does not hold the upload for ever`() async throws {
        try await withCentrals { world, storage, first, second in
            let (one, two) = (FirmwareClient(first), FirmwareClient(second))
            for try await step in one.upload(.random(20_000)) where step.sentBytes > 5_000 { break }
            await world.clock.run(for: .seconds(31))
            let other = FirmwareImage.random(10_000, seed: 2)
            try await two.upload(other).finish()
            #expect(await storage.contents.secondary == other)
        }
    }

    @Test func `half a frame, and a flood, do not disturb the other central`() async throws {
        try await withCentrals { world, storage, first, second in
            let two = FirmwareClient(second)
            let stream = try await first.notifications(Characteristic.smp, overflow: .dropOldest(capacity: 10))
            let echo = SMPFrame(.write, SMPCommand(.os, 0), sequence: 1, ["d": "x"]).bytes
            // Half a frame, and then nothing.
            try await first.write(Array(echo[..<9]), to: .smp, type: .withoutResponse)
            let image = FirmwareImage.random(20_000)
            try await two.upload(image).finish()
            #expect(await storage.contents.secondary == image)
            // Many frames, without waiting for responses.
            await world.clock.run(for: .seconds(11))
            for _ in 0..<200 { try await first.write(echo, to: .smp, type: .withoutResponse) }
            #expect(try await two.echo("b") == "b")
            #expect(try await two.imageSlots().count == 1)
            await stream.end()
        }
    }

    @Test func `the rest of a frame that does not come is no longer waited for after 10 seconds`() async throws {
        try await withCentrals { world, _, first, _ in
            var packets = try await first.notifications(Characteristic.smp).makeAsyncIterator()
            let echo = SMPFrame(.write, SMPCommand(.os, 0), sequence: 1, ["d": "x"]).bytes
            try await first.write(Array(echo[..<9]), to: .smp, type: .withoutResponse)
            await world.clock.run(for: .seconds(11))
            try await first.write(echo, to: .smp, type: .withoutResponse)
            let packet = try await packets.next()
            #expect(try SMPFrame(decoding: packet ?? []).fields == ["r": "x"])
        }
    }

    @Test func `a central that is not subscribed is not answered`() async throws {
        try await withCentrals { _, storage, first, second in
            let image = FirmwareImage.random(10)
            let frame = SMPFrame(
                .write, SMPCommand(.image, 1), sequence: 1,
                ["off": 0, "len": CBOR(image.bytes.count), "data": .bytes(image.bytes)])
            try await first.write(frame.bytes, to: .smp, type: .withoutResponse)
            #expect(try await FirmwareClient(second).imageSlots().isEmpty)
            #expect(await storage.contents.secondary == nil)
        }
    }
}

/// The subscriptions of a system that does not distinguish them, such as BlueZ before 5.80.
@Suite(.hangLimit) struct SharedSubscriptionTests {
    private let clock = ManualClock()
    private let one = DeviceID(rawValue: "C0:00:00:00:00:01")
    private let two = DeviceID(rawValue: "C0:00:00:00:00:02")

    private func write(_ frame: SMPFrame, _ central: DeviceID, _ service: ServiceDefinition) async throws(ATTError) {
        let request = AttributeRequest(central: central, attMTU: 247, clock: clock)
        try await service.characteristics[0].onWrite!(frame.bytes, request)
    }

    @Test func `one central at a time is served, until its link ends or it is silent`() async throws {
        let device = FirmwarePeripheral(MemoryFirmwareStorage())
        let service = device.service
        let sent = SharedValue<[SMPFrame]>([])
        let notifier = Notifier(clock: clock) { packet in
            if let frame = try? SMPFrame(decoding: packet) { sent.change { $0.append(frame) } }
        }
        let subscription = Task { try await service.characteristics[0].onSubscribe!(notifier) }
        let echo = SMPFrame(.write, SMPCommand(.os, 0), sequence: 1, ["d": "x"])
        // The subscription begins.
        await until { (try? await write(echo, one, service)) != nil }
        try await sent.until { $0.count == 1 }
        await #expect(throws: ATTError.insufficientResources) { try await write(echo, two, service) }
        clock.advance(by: .seconds(31))
        try await write(echo, two, service)
        try await sent.until { $0.count == 2 }
        await #expect(throws: ATTError.insufficientResources) { try await write(echo, one, service) }
        await service.onDisconnect?(two)
        try await write(echo, one, service)
        try await sent.until { $0.count == 3 }
        subscription.cancel()
        _ = await subscription.result
        await #expect(throws: ATTError.improperlyConfigured) { try await write(echo, one, service) }
    }
}
