import BLE
import BLEFeatures
import Foundation
import Testing

@Suite struct DeviceStorageTests {
    private let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    private var path: String { directory.appendingPathComponent("devices.json").path }

    init() throws { try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true) }

    private static let lock = SavedDevice(
        serial: "010203040506", name: "Lock", peripheral: Peripheral.ID(rawValue: "F0:F1:F2:F3:F4:F6"),
        key: MessageKey(Array(1...32)))
    private static let lamp = SavedDevice(serial: "000000000001")

    private func storages() -> [any DeviceStorage] { [MemoryDeviceStorage(), FileDeviceStorage(path: path)] }

    @Test func `what is stored is found until it is forgotten`() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        for storage in storages() {
            #expect(try await storage.all().isEmpty)
            try await storage.update(Self.lock.serial) {
                #expect($0 == nil); return Self.lock
            }
            try await storage.update(Self.lamp.serial) { _ in Self.lamp }
            #expect(try await storage.all() == [Self.lamp, Self.lock])
            try await storage.update(Self.lock.serial) { device in
                var device = device
                device?.key = nil
                return device
            }
            #expect(try await storage.device(Self.lock.serial)?.name == "Lock")
            #expect(try await storage.device(Self.lock.serial)?.key == nil)
            try await storage.update(Self.lock.serial) { _ in nil }
            #expect(try await storage.all() == [Self.lamp])
        }
    }

    @Test func `a file keeps everything, for its owner's eyes only, and leaves nothing beside it`() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        try await FileDeviceStorage(path: path).update(Self.lock.serial) { _ in Self.lock }
        try await FileDeviceStorage(path: path).update(Self.lamp.serial) { _ in Self.lamp }
        #expect(try await FileDeviceStorage(path: path).all() == [Self.lamp, Self.lock])
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["devices.json"])
    }

    @Test(arguments: [
        "", "{}", "[", "[{}]", #"[{"serial": 1}]"#, #"[{"serial": "01", "key": "zz"}]"#,
        #"[{"serial": "01", "key": "0102"}]"#,
    ])
    func `a damaged file is an error, and stays as it is`(_ content: String) async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        try Data(content.utf8).write(to: URL(fileURLWithPath: path))
        let storage = FileDeviceStorage(path: path)
        let error = await #expect(throws: BLEError.self) { try await storage.all() }
        #expect(error?.code == .storageFailed)
        await #expect(throws: BLEError.self) { try await storage.update(Self.lock.serial) { _ in Self.lock } }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == content)
    }

    @Test func `a file that cannot be written is an error, and nothing has changed`() async throws {
        try FileManager.default.removeItem(at: directory)
        let storage = FileDeviceStorage(path: path)
        let error = await #expect(throws: BLEError.self) {
            try await storage.update(Self.lock.serial) { _ in Self.lock }
        }
        #expect(error?.code == .storageFailed)
        #expect(try await storage.all().isEmpty)
    }

    @Test func `two storages of one file keep what the other has written`() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let (first, second) = (FileDeviceStorage(path: path), FileDeviceStorage(path: path))
        #expect(try await first.all().isEmpty)
        try await second.update(Self.lock.serial) { _ in Self.lock }
        try await first.update(Self.lamp.serial) { _ in Self.lamp }
        #expect(try await second.all() == [Self.lamp, Self.lock])
    }
}
