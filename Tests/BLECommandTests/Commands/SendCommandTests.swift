import BLE
import BLETestSupport
import BLETransfers
import BlueZTestSupport
import Foundation
import Testing

@testable import BLECommand

/// `ble send`, and what it shows.
@Suite(.startsProcesses, .hangLimit)
struct SendCommandTests {
    private let storage = MemoryTransferStorage(capacity: 100_000)
    private let bytes = (0..<30_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }

    /// A receiver in the world.
    private func world() async throws -> BlueZWorld {
        let world = try await BlueZWorld()
        _ = await world.radio.add(TransferPeripheral(storage).definition(name: "Logger"))
        return world
    }

    private func file(_ bytes: [UInt8]) throws -> URL {
        let url = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).bin")
        try Data(bytes).write(to: url)
        return url
    }

    @Test func `a file is sent, once`() async throws {
        let world = try await world()
        let url = try file(bytes)
        defer { try? FileManager.default.removeItem(at: url) }
        let result = try await world.ble("send", "Logger", url.path, "--json").run()
        #expect(result.status == 0, "\(result.errors)")
        let schema = try OutputSchema()
        for line in result.output.split(separator: "\n") {
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
            #expect(schema.mistakes(in: object, of: "send").isEmpty)
        }
        #expect(try result.objects.map { $0["resumedBytes"] as? Int } == [0])
        #expect(await storage.files == [url.lastPathComponent: bytes])
        let again = try await world.ble("send", "Logger", url.path).run()
        #expect(again.output == "the peripheral has the file already\n")
    }

    @Test func `a refusal has a status of its own`() async throws {
        let world = try await world()
        let url = try file([UInt8](repeating: 1, count: 100_001))
        defer { try? FileManager.default.removeItem(at: url) }
        let result = try await world.ble("send", "Logger", url.path, "--name", "a").run()
        #expect(result.status == 19)
        #expect(result.errors.contains("the file is too large"))
        #expect(try await world.ble("send", "Logger", url.path, "--name", "a\nb").run().status == 64)
        #expect(try await world.ble("send", "Logger", url.path + ".none").run().status == 64)
        let channel = try await world.ble("send", "Logger", url.path, "--channel").run()
        #expect(channel.status == 16)
        #expect(channel.errors.contains("Send without --channel"), "\(channel.errors)")
    }

    @Test func `a refused channel has a remedy`() async throws {
        let world = try await BlueZWorld()
        // It publishes the number of a channel that nothing accepts.
        var definition = TransferPeripheral(storage).definition(name: "Logger", channel: 0x80)
        definition.channels = []
        _ = await world.radio.add(definition)
        let url = try file([1, 2, 3])
        defer { try? FileManager.default.removeItem(at: url) }
        let result = try await world.ble("send", "Logger", url.path, "--channel").run()
        #expect(result.status != 0)
        #expect(result.errors.lowercased().contains("send without --channel"), "\(result.errors)")
    }
}
