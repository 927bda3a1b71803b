public import BLE
internal import Foundation

/// Remembers devices in a file, which only its owner may read.
///
/// Each change replaces the file in one step, so that a crash leaves the old one or the new one. The file is JSON; the keys in it
/// are secret. Two processes must not share a file.
public actor FileDeviceStorage: DeviceStorage {
    private struct Record: Codable {
        var serial: String
        var name: String?
        var peripheral: String?
        var key: String?
    }

    /// Where the file is.
    public nonisolated let path: String
    private var devices: [String: SavedDevice]?

    /// A storage in that file, whose directory must be there. The file is read when it is needed first; a missing one knows no
    /// devices.
    public init(path: String) { self.path = path }

    /// All devices, in order of their serial numbers.
    public func all() throws(BLEError) -> [SavedDevice] { try load().values.sorted { $0.serial < $1.serial } }

    /// What is remembered of a device.
    public func device(_ serial: String) throws(BLEError) -> SavedDevice? { try load()[serial] }

    /// Changes what is remembered, and writes the file.
    public func update(
        _ serial: String, _ change: @Sendable (SavedDevice?) -> SavedDevice?
    ) throws(BLEError) {
        var devices = try load()
        let changed = change(devices[serial])
        guard changed != devices[serial] else { return }
        devices[serial] = changed
        try write(devices)
        self.devices = devices
    }

    private func load() throws(BLEError) -> [String: SavedDevice] {
        if let devices { return devices }
        do {
            let devices = try read()
            self.devices = devices
            return devices
        } catch {
            throw failure("read", error)
        }
    }

    private func read() throws -> [String: SavedDevice] {
        let url = URL(fileURLWithPath: path)
        guard FileManager.default.fileExists(atPath: path) else { return [:] }
        let records = try JSONDecoder().decode([Record].self, from: Data(contentsOf: url))
        let devices = try records.map { record in
            var key: MessageKey?
            if let digits = record.key {
                guard let bytes = Hex.bytes(digits), let stored = MessageKey(bytes) else {
                    throw CocoaError(.fileReadCorruptFile)
                }
                key = stored
            }
            return SavedDevice(
                serial: record.serial, name: record.name,
                peripheral: record.peripheral.map { Peripheral.ID(rawValue: $0) }, key: key)
        }
        return Dictionary(devices.map { ($0.serial, $0) }) { $1 }
    }

    private func write(_ devices: [String: SavedDevice]) throws(BLEError) {
        let records = devices.values.sorted { $0.serial < $1.serial }.map {
            Record(
                serial: $0.serial, name: $0.name, peripheral: $0.peripheral?.rawValue,
                key: $0.key.map { Hex.string($0.bytes) })
        }
        do {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            try PrivateFile.replace(path, with: Array(try encoder.encode(records)))
        } catch {
            throw failure("written", error)
        }
    }

    private func failure(_ what: String, _ error: any Error) -> BLEError {
        BLEError(
            .storageFailed, "\(path) cannot be \(what): \(error)", isRetryable: false,
            remedy: "Look at the file and its directory.", cause: error)
    }
}

/// Files that only their owner may read.
enum PrivateFile {
    /// A system call has failed.
    struct Failure: Error, CustomStringConvertible {
        let call: String
        let number: Int32
        var description: String { "\(call): \(String(cString: strerror(number)))" }
    }

    /// Puts a file of mode 0600 in the place of `path`, on the disk when this returns.
    static func replace(_ path: String, with bytes: [UInt8]) throws {
        var name = Array("\(path).XXXXXX".utf8CString)
        // (mkstemp makes it with mode 0600)
        let descriptor = try check("mkstemp", mkstemp(&name))
        do {
            defer { close(descriptor) }
            try check("fchmod", fchmod(descriptor, 0o600))
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
                try check("write", Int32(truncatingIfNeeded: min(count, 1)))
                rest = rest.dropFirst(count)
            }
            try check("fsync", fsync(descriptor))
            try check("rename", rename(name, path))
        } catch {
            unlink(name)
            throw error
        }
    }

    @discardableResult private static func check(_ call: String, _ result: Int32) throws -> Int32 {
        guard result >= 0 else { throw Failure(call: call, number: errno) }
        return result
    }
}
