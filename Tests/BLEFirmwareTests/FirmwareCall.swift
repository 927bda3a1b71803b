import BLE
import BLEFirmware
import BLESimulation
import BLETesting
import Testing

/// A call of `BLEFirmware` that waits for a device that may be out of range.
struct FirmwareCall: Sendable, CustomTestStringConvertible {
    /// The declaration: `Scripts/awaits` compares it with the public API.
    let name: String
    let run: @Sendable (FirmwareClient) async throws -> Void

    var testDescription: String { name }

    init(_ name: String, _ run: @escaping @Sendable (FirmwareClient) async throws -> Void) {
        (self.name, self.run) = (name, run)
    }

    static let all = [
        FirmwareCall("FirmwareClient.request(_:_:_:timeout:)") { _ = try await $0.request(.read, SMPCommand(.os, 0)) },
        FirmwareCall("FirmwareClient.echo(_:)") { _ = try await $0.echo("") },
        FirmwareCall("FirmwareClient.parameters()") { _ = try await $0.parameters() },
        FirmwareCall("FirmwareClient.reset(isForced:)") { try await $0.reset() },
        FirmwareCall("FirmwareClient.dateTime()") { _ = try await $0.dateTime() },
        FirmwareCall("FirmwareClient.setDateTime(_:)") { try await $0.setDateTime("") },
        FirmwareCall("FirmwareClient.bootloader()") { _ = try await $0.bootloader() },
        FirmwareCall("FirmwareClient.bootloaderMode()") { _ = try await $0.bootloaderMode() },
        FirmwareCall("FirmwareClient.applicationInfo(format:)") { _ = try await $0.applicationInfo() },
        FirmwareCall("FirmwareClient.execute(_:timeout:)") { _ = try await $0.execute(["a"]) },
        FirmwareCall("FirmwareClient.imageSlots()") { _ = try await $0.imageSlots() },
        FirmwareCall("FirmwareClient.test(hash:)") { try await $0.test(hash: []) },
        FirmwareCall("FirmwareClient.confirm(hash:)") { try await $0.confirm() },
        FirmwareCall("FirmwareClient.erase(slot:)") { try await $0.erase() },
        FirmwareCall("FirmwareClient.slotSizes()") { _ = try await $0.slotSizes() },
        FirmwareCall("FirmwareClient.fileLength(_:)") { _ = try await $0.fileLength("") },
        FirmwareCall("FirmwareClient.fileHash(_:_:length:)") { _ = try await $0.fileHash("") },
        FirmwareCall("FirmwareClient.download(_:maximumLength:progress:)") { _ = try await $0.download("") },
        FirmwareCall("FirmwareClient.update(_:image:isUpgrade:restart:reconnects:progress:)") {
            try await $0.update(.random(10), reconnects: 0)
        },
        FirmwareCall("FirmwareClient.start(_:within:)") { try await $0.start(.random(10)) },
        FirmwareCall("FirmwareUpload.finish()") { try await $0.upload(.random(10)).finish() },
        FirmwareCall("FirmwareUpload.Iterator.next()") { client in
            for try await _ in client.upload([1], toFile: "/a") {}
        },
        FirmwareCall("FirmwareUpload.Iterator.next(isolation:)") { client in
            for try await _ in SecureDFU(client.peripheral).upload(initPacket: [1], firmware: [1]) {}
        },
        FirmwareCall("ButtonlessDFU.enterBootloader()") { try await ButtonlessDFU($0.peripheral).enterBootloader() },
        FirmwareCall("ButtonlessDFU.setName(_:)") { try await ButtonlessDFU($0.peripheral).setName("a") },
    ]
}

/// Every await of `BLEFirmware` ends with its task, at its deadline, and with its central.
@Suite(.hangLimit) struct FirmwareAwaitTests {
    private let world: SimulatedWorld
    private let client: FirmwareClient

    init() async throws {
        world = try await SimulatedWorld()
        client = FirmwareClient(world.central.peripheral("00:11:22:33:44:55"))
    }

    private func begin(_ call: FirmwareCall) async -> Task<Void, any Error> {
        let task = Task { [client] in try await call.run(client) }
        await until { await world.central.isScanning }
        return task
    }

    @Test(arguments: FirmwareCall.all) func `a cancelled call ends at once`(_ call: FirmwareCall) async throws {
        let task = await begin(call)
        task.cancel()
        await expectError(.cancelled) { try await task.value }
        await until { await !world.central.isScanning }
        await until { world.clock.sleeperCount == 0 }
    }

    @Test(arguments: FirmwareCall.all) func `a call ends at its deadline`(_ call: FirmwareCall) async throws {
        let task = await begin(call)
        // The request's own timeout, or that of connecting.
        await world.clock.sleepers(1, for: .seconds(20))
        world.clock.advance(by: .seconds(20))
        let error = await #expect(throws: BLEError.self) { try await task.value }
        #expect(error.map { [.timedOut, .peripheralNotFound].contains($0.code) } == true)
    }

    @Test(arguments: FirmwareCall.all) func `a call ends with the central`(_ call: FirmwareCall) async throws {
        let task = await begin(call)
        await world.central.shutDown()
        await expectError(.shutDown) { try await task.value }
    }
}
