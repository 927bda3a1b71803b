import BLE
import BLEFirmware
import BLESimulation
import BLETesting
import Testing

@Suite(.hangLimit, .tracesFailures) struct UpdateTests {
    private static let present = FirmwareImage.random(100, version: FirmwareVersion(1, 0))
    private let storage = MemoryFirmwareStorage(.init(primary: present))
    private let update = FirmwareImage.random(5_000)

    /// Runs `body` with a client of a device, whose reset ends the link and does `onReset`. `onRequest` is called before
    /// each request is handled.
    private func withDevice(
        onRequest: @escaping @Sendable (SMPCommand, SimulatedPeripheral?) async -> Void = { _, _ in },
        onReset: @escaping @Sendable (MemoryFirmwareStorage) async throws -> Void,
        _ body: (FirmwareClient) async throws -> Void
    ) async throws {
        let world = try await SimulatedWorld()
        let device = SharedValue<SimulatedPeripheral?>(nil)
        let definition = FirmwarePeripheral(
            storage,
            isAllowed: { _, command in
                await onRequest(command, device.value)
                return true
            },
            onReset: { [storage] _ in
                try await onReset(storage)
                await device.value?.dropLink()
            }
        ).definition(name: "Lamp")
        let (peripheral, simulated) = try await world.add(definition)
        device.change { $0 = simulated }
        try await world.asTimePasses(inSleepsOfAtMost: .seconds(2)) { try await body(FirmwareClient(peripheral)) }
    }

    @Test func `an image is uploaded, started once, and confirmed when the device is back with it`() async throws {
        let progress = SharedValue<[UploadProgress]>([])
        try await withDevice(onReset: { try await $0.reset() }) { client in
            try await client.update(update) { step in progress.change { $0.append(step) } }
        }
        #expect(progress.value.last?.fraction == 1)
        let contents = await storage.contents
        #expect(contents.primary == update && contents.isConfirmed)
    }

    @Test func `a device that returns to the image before is an error, and nothing is confirmed`() async throws {
        try await withDevice(onReset: {
            try await $0.reset()
            try await $0.reset()
        }) { client in
            await expectError(.uploadFailed) { try await client.update(update) }
        }
        #expect(await storage.contents.primary == Self.present)
    }

    @Test func `an update that was interrupted by the restart confirms the image when it is called again`() async throws
    {
        try await withDevice(onReset: { try await $0.reset() }) { client in
            for try await _ in client.upload(update) {}
            try await client.test(hash: update.hash)
            try await client.reset()
            try await client.update(update)
        }
        let contents = await storage.contents
        #expect(contents.primary == update && contents.isConfirmed)
    }

    @Test func `an update that was interrupted before the reset starts the image when it is called again`() async throws
    {
        try await withDevice(onReset: { try await $0.reset() }) { client in
            for try await _ in client.upload(update) {}
            try await client.test(hash: update.hash)
            try await client.update(update)
        }
        let contents = await storage.contents
        #expect(contents.primary == update && contents.isConfirmed)
    }

    @Test func `an image that is pending is not uploaded again if the link is lost while the device is asked`()
        async throws
    {
        let losses = SharedValue(0)
        try await withDevice(
            onRequest: { command, device in
                guard command == SMPCommand(.image, 0) else { return }
                let isLost = losses.change { losses in
                    losses -= 1
                    return losses >= 0
                }
                if isLost { await device?.dropLink() }
            }, onReset: { try await $0.reset() }
        ) { client in
            for try await _ in client.upload(update) {}
            try await client.test(hash: update.hash)
            losses.change { $0 = 2 }
            try await client.update(update, reconnects: 2) { _ in Issue.record("it is uploaded again") }
        }
        let contents = await storage.contents
        #expect(contents.primary == update && contents.isConfirmed)
    }

    @Test func `a link that is lost for longer than allowed while the device is asked ends the update`() async throws {
        try await withDevice(
            onRequest: { command, device in
                if command == SMPCommand(.image, 0) { await device?.dropLink() }
            }, onReset: { try await $0.reset() }
        ) { client in
            await expectError(.disconnected) { try await client.update(update, reconnects: 2) }
        }
        #expect(await storage.contents.secondary == nil)
    }

    @Test func `a device that does not reset in time is an error`() async throws {
        try await withDevice(onReset: { _ in }) { client in
            await expectError(.timedOut) { try await client.update(update, restart: .seconds(10)) }
        }
        #expect(await storage.contents.pending == .test)
    }
}
