import BLE
import BLEFirmware
import BLETestSupport
import BlueZTestSupport
import Foundation
import Testing

@testable import BLECommand

/// `ble update`, and what it shows.
@Suite(.startsProcesses, .hangLimit)
struct UpdateCommandTests {
    private static let image = FirmwareImage(
        version: FirmwareVersion(2, 1), program: [UInt8](repeating: 7, count: 30_000))

    private let storage = MemoryFirmwareStorage(
        .init(primary: FirmwareImage(version: FirmwareVersion(1, 0), program: [1])))

    /// A device in the world, whose reset does `onReset`.
    private func world(
        onReset: @escaping @Sendable (MemoryFirmwareStorage) async throws -> Void = { try await $0.reset() }
    ) async throws -> BlueZWorld {
        let world = try await BlueZWorld()
        let device = FirmwarePeripheral(storage, onReset: { [storage] _ in try await onReset(storage) })
        _ = await world.radio.add(device.definition(name: "Lamp"))
        return world
    }

    private func file(_ bytes: [UInt8]) throws -> String {
        let url = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).bin")
        try Data(bytes).write(to: url)
        return url.path
    }

    private func lines(_ text: String) throws -> [Any] {
        try text.split(separator: "\n").map { try JSONSerialization.jsonObject(with: Data($0.utf8)) }
    }

    @Test func `an image is uploaded, started once, and confirmed when the device is back with it`() async throws {
        let world = try await world()
        let path = try file(Self.image.bytes)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let result = try await world.ble("update", "Lamp", path, "--json").run()
        #expect(result.status == 0, "\(result.errors)")
        let told = try result.objects
        let schema = try OutputSchema()
        #expect(told.compactMap { $0["event"] as? String } == ["uploaded", "confirmed"])
        for line in try lines(result.output) { #expect(schema.mistakes(in: line, of: "update").isEmpty) }
        #expect(told[0]["bytes"] as? Int == Self.image.bytes.count)
        let contents = await storage.contents
        #expect(contents.primary == Self.image)
        #expect(contents.isConfirmed)

        let list = try await world.ble("update", "Lamp").run()
        #expect(
            list.output.hasPrefix(
                "image 0 slot 0  2.1.0  running, confirmed  \(Hex.string(Self.image.hash).prefix(16))\n"))
        let images = try lines(try await world.ble("update", "Lamp", "--json").run().output)
        #expect(images.count == 2)
        for line in images { #expect(schema.mistakes(in: line, of: "image").isEmpty) }
    }

    @Test func `with --upload-only, nothing is started`() async throws {
        let world = try await world()
        let path = try file(Self.image.bytes)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let result = try await world.ble("update", "Lamp", path, "--upload-only").run()
        #expect(result.output.hasPrefix("uploaded \(Self.image.bytes.count) bytes in "))
        let contents = await storage.contents
        #expect(contents.secondary == Self.image)
        #expect(contents.pending == .none)
    }

    @Test func `a device that returns to the image before is an error, and nothing is confirmed`() async throws {
        let world = try await world { storage in
            try await storage.reset()
            try await storage.reset()
        }
        let path = try file(Self.image.bytes)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let result = try await world.ble("update", "Lamp", path).run()
        #expect(result.status == 19)
        #expect(result.errors.contains("has returned to the one before"))
        #expect(await storage.contents.primary?.version == FirmwareVersion(1, 0))
    }

    @Test func `a device that does not reset in time is an error`() async throws {
        let world = try await world { _ in }
        let path = try file(Self.image.bytes)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let result = try await world.ble("update", "Lamp", path, "--restart", "0.5").run()
        #expect(result.status == 124)
        #expect(result.errors.contains("is not back within 0.5 s"))
    }

    @Test func `a file that is no image is refused before anything is sent`() async throws {
        let world = try await world()
        let path = try file([1, 2, 3])
        defer { try? FileManager.default.removeItem(atPath: path) }
        let wrong = try await world.ble("update", "Lamp", path).run()
        #expect(wrong.status == 64)
        #expect(wrong.errors.contains("the firmware image is not valid"))
        let missing = try await world.ble("update", "Lamp", path + ".missing").run()
        #expect(missing.status == 64)
        #expect(missing.errors.contains("cannot be read"))
        #expect(try await world.ble("update", "Lamp", "--upload-only").run().status == 64)
        #expect(await storage.contents.secondary == nil)
    }

    @Test func `a meter shows how far it is, how fast, and how long it takes`() {
        var meter = TransferMeter("Uploading", total: 500_000)
        meter.take(100_000, at: .seconds(2))
        #expect(meter.line == "Uploading [####................] 20 % of 500 kB")
        meter.take(260_000, at: .seconds(12))
        #expect(meter.line == "Uploading [##########..........] 52 % of 500 kB, 16.0 kB/s, 15 s left")
        meter.take(500_000, at: .seconds(27))
        #expect(meter.line == "Uploading [####################] 100 % of 500 kB, 16.0 kB/s, 0 s left")
    }
}
