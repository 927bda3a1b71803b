import BLE
import BLESimulation
import BLETesting
import Testing

@testable import BLEFirmware

/// A host that serves a device to two centrals.
@Suite(.hangLimit, .tracesFailures) struct CentralsTests {
    private func withCentrals(
        _ storage: MemoryFirmwareStorage = MemoryFirmwareStorage(), device: FirmwarePeripheral? = nil,
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
        let device = device ?? FirmwarePeripheral(storage)
        let serving = Task { try await host.serve(device.definition(name: "Device")) }
        let (first, second) = try await world.asTimePasses {
            async let first = world.central.first(matching: .service(.smp)).peripheral
            async let second = other.first(matching: .service(.smp)).peripheral
            return try await (first, second)
        }
        try await body(world, storage, first, second)
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
            let fields: CBORMap = [
                "off": 0, "len": CBOR(other.bytes.count), "data": .bytes(Array(other.bytes.prefix(32))),
            ]
            let busy = await expectError(.managementFailed) {
                try await two.request(.write, SMPCommand(.image, 1), fields)
            }
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

    @Test func `an upload pauses until the silence of another central has lasted long enough`() async throws {
        try await withCentrals { world, storage, first, second in
            for try await step in FirmwareClient(first).upload(.random(20_000)) where step.sentBytes > 5_000 { break }
            let other = FirmwareImage.random(10_000, seed: 2)
            try await world.asTimePasses(inSleepsOfAtMost: .seconds(8)) {
                try await FirmwareClient(second).upload(other).finish()
            }
            #expect(await storage.contents.secondary == other)
        }
    }

    @Test func `a storage that hangs does not keep another central from uploading for ever`() async throws {
        let (hung, isOver) = (SharedValue(0), SharedValue(false))
        let storage = MemoryFirmwareStorage()
        let slow = SlowFirmwareStorage(
            base: storage,
            onFinish: {
                guard hung.next() == 1 else { return }
                try await isOver.until { $0 }
            })
        try await withCentrals(storage, device: FirmwarePeripheral(slow)) { world, storage, first, second in
            let two = FirmwareClient(second)
            let other = FirmwareImage.random(10_000, seed: 2)
            let one = Task { try await FirmwareClient(first).upload(.random(5_000)).finish() }
            try await hung.until { $0 == 1 }
            #expect(try await two.echo("a") == "a")
            await expectError(.managementFailed) { try await two.erase() }
            // The end of the link does not interrupt what the storage does.
            try await first.disconnect()
            await expectError(.disconnected) { try await one.value }
            await expectError(.managementFailed) { try await two.erase() }
            await world.clock.run(for: .seconds(121))
            try await two.upload(other).finish()
            #expect(await storage.contents.secondary == other)
            // The central whose request hangs is served on its next link.
            #expect(try await FirmwareClient(first).echo("b") == "b")
            // What returns late changes nothing.
            isOver.change { $0 = true }
            try await two.upload(other).finish()
            #expect(await storage.contents.secondary == other)
        }
    }

    @Test func `an erasure forgets no upload that another central has begun meanwhile`() async throws {
        let (began, isOver) = (SharedValue(0), SharedValue(false))
        let storage = MemoryFirmwareStorage()
        let slow = SlowFirmwareStorage(
            base: storage,
            onErase: {
                began.next()
                try await isOver.until { $0 }
            })
        try await withCentrals(storage, device: FirmwarePeripheral(slow)) { _, storage, first, second in
            let erasing = Task { try await FirmwareClient(first).erase() }
            try await began.until { $0 == 1 }
            let image = FirmwareImage.random(20_000)
            let offsets = SharedValue<[Int]>([])
            for try await step in FirmwareClient(second).upload(image) {
                offsets.change { $0.append(step.sentBytes) }
                if !isOver.value, step.sentBytes > 5_000 {
                    isOver.change { $0 = true }
                    try await erasing.value
                }
            }
            #expect(offsets.value == offsets.value.sorted())
            #expect(await storage.contents.secondary == image)
        }
    }

    @Test func `a central that begins many files does not keep another one from its own`() async throws {
        try await withCentrals { _, storage, first, second in
            let one = FirmwareClient(first)
            for number in 0..<16 {
                let fields: CBORMap = ["off": 0, "len": 10, "name": .text("\(number)"), "data": .bytes([1])]
                _ = try await one.request(.write, SMPCommand(.file, 0), fields)
            }
            try await FirmwareClient(second).upload([1, 2, 3], toFile: "a").finish()
            #expect(await storage.contents.files["a"] == [1, 2, 3])
        }
    }

    @Test func `the oldest upload that another central has left makes room for a file, and no other`() async throws {
        let device = FirmwarePeripheral(MemoryFirmwareStorage())
        func begin(_ name: String, _ client: FirmwareClient) async throws {
            let fields: CBORMap = ["off": 0, "len": 10, "name": .text(name), "data": .bytes([1])]
            _ = try await client.request(.write, SMPCommand(.file, 0), fields)
        }
        try await withCentrals(device: device) { _, _, first, second in
            let two = FirmwareClient(second)
            try await begin("own", two)
            for numbers in [0..<4, 4..<8, 8..<12, 12..<15] {
                let one = FirmwareClient(first)
                for number in numbers { try await begin("\(number)", one) }
                try await first.disconnect()
                await until { await device.fileUploads.values.count { $0.holder.central != nil } == 1 }
            }
            try await begin("new", two)
            let names = await Set(device.fileUploads.keys)
            #expect(names == Set(["own", "new"] + (1..<15).map { "\($0)" }))
        }
    }

    @Test func `two hosts have subscribers of their own`() async throws {
        let (clock, central) = (ManualClock(), DeviceID("C0:00:00:00:00:01"))
        let device = FirmwarePeripheral(MemoryFirmwareStorage())
        let points = [device.service, device.service].map { $0.characteristics[0] }
        let answers = SharedValue<[Int]>([])
        let serving = points.enumerated().map { number, point in
            let notifier = Notifier(clock: clock, central: nil) { _ in answers.change { $0.append(number) } }
            return Task { try await point.onSubscribe?(notifier) }
        }
        let echo = SMPFrame(.write, SMPCommand(.os, 0), sequence: 1, ["d": "x"]).bytes
        for point in points {
            await until {
                (try? await point.onWrite?(echo, AttributeRequest(central: central, attMTU: 247, clock: clock))) != nil
            }
        }
        try await answers.until { $0.count == 2 }
        #expect(answers.value.sorted() == [0, 1])
        for task in serving {
            task.cancel()
            _ = await task.result
        }
    }

    @Test func `a file that the storage still writes is not closed`() async throws {
        let (began, isOver) = (SharedValue(0), SharedValue(false))
        let slow = SlowFirmwareStorage(
            base: MemoryFirmwareStorage(),
            onWriteFile: {
                began.next()
                try await isOver.until { $0 }
            })
        let fields: CBORMap = ["off": 0, "len": 10, "name": "a", "data": .bytes([1])]
        try await withCentrals(device: FirmwarePeripheral(slow)) { _, _, first, second in
            let one = FirmwareClient(first)
            let writing = Task { try await one.request(.write, SMPCommand(.file, 0), fields) }
            try await began.until { $0 == 1 }
            await one.close()
            _ = await writing.result
            _ = try await FirmwareClient(first).request(.write, SMPCommand(.file, 4))
            let error = await expectError(.managementFailed) {
                try await FirmwareClient(second).request(.write, SMPCommand(.file, 0), fields)
            }
            #expect(error?.managementFailure == SMPFailure(.busy))
            isOver.change { $0 = true }
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
    private let echo = SMPFrame(.write, SMPCommand(.os, 0), sequence: 1, ["d": "x"])

    private func write(_ frame: SMPFrame, _ central: DeviceID, _ service: ServiceDefinition) async throws(ATTError) {
        let request = AttributeRequest(central: central, attMTU: 247, clock: clock)
        try await service.characteristics[0].onWrite!(frame.bytes, request)
    }

    /// Subscribes, and returns what is sent.
    private func subscribe(
        _ service: ServiceDefinition
    ) async throws -> (sent: SharedValue<[SMPFrame]>, subscription: Task<Void, any Error>) {
        let sent = SharedValue<[SMPFrame]>([])
        let notifier = Notifier(clock: clock) { packet in
            if let frame = try? SMPFrame(decoding: packet) { sent.change { $0.append(frame) } }
        }
        let subscription = Task { try await service.characteristics[0].onSubscribe!(notifier) }
        // The subscription begins.
        await until { (try? await write(echo, one, service)) != nil }
        try await sent.until { $0.count == 1 }
        return (sent, subscription)
    }

    @Test func `one central at a time is served, until its link ends or it is silent`() async throws {
        let service = FirmwarePeripheral(MemoryFirmwareStorage()).service
        let (sent, subscription) = try await subscribe(service)
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

    @Test func `half a frame is not kept longer because a request before it is answered late`() async throws {
        let isOver = SharedValue(false)
        let service = FirmwarePeripheral(
            MemoryFirmwareStorage(),
            onExecute: { _ in
                try await isOver.until { $0 }
                return .init(output: "")
            }
        ).service
        let (sent, subscription) = try await subscribe(service)
        try await write(SMPFrame(.write, SMPCommand(.shell, 0), sequence: 2, ["argv": ["a"]]), one, service)
        let request = AttributeRequest(central: one, attMTU: 247, clock: clock)
        try await service.characteristics[0].onWrite?(Array(echo.bytes[..<9]), request)
        clock.advance(by: .seconds(9))
        isOver.change { $0 = true }
        try await sent.until { $0.count == 2 }
        clock.advance(by: .seconds(9))
        try await write(echo, one, service)
        try await sent.until { $0.count == 3 }
        #expect(sent.value.last?.fields == ["r": "x"])
        subscription.cancel()
        _ = await subscription.result
    }

    @Test(arguments: [true, false])
    func `a handler that hangs keeps other centrals waiting until its link ends, or for 120 seconds`(
        _ endsLink: Bool
    ) async throws {
        let (began, isOver) = (SharedValue(0), SharedValue(false))
        let service = FirmwarePeripheral(
            MemoryFirmwareStorage(),
            onExecute: { _ in
                began.next()
                try await isOver.until { $0 }
                return .init(output: "late")
            }
        ).service
        let (sent, subscription) = try await subscribe(service)
        try await write(SMPFrame(.write, SMPCommand(.shell, 0), sequence: 7, ["argv": ["a"]]), one, service)
        // A request that waits for the one that hangs is not answered later, either.
        try await write(SMPFrame(.write, SMPCommand(.os, 0), sequence: 8, ["d": "queued"]), one, service)
        try await began.until { $0 == 1 }
        if endsLink {
            await service.onDisconnect?(one)
        } else {
            clock.advance(by: .seconds(119))
            await #expect(throws: ATTError.insufficientResources) { try await write(echo, two, service) }
            clock.advance(by: .seconds(2))
        }
        try await write(echo, two, service)
        try await sent.until { $0.count == 2 }
        isOver.change { $0 = true }
        try await write(echo, two, service)
        try await sent.until { $0.count == 3 }
        subscription.cancel()
        _ = await subscription.result
        #expect(sent.value.map(\.header.sequence) == [1, 1, 1])
    }
}
