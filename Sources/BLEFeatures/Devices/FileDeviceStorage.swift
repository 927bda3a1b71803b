public import BLE
internal import Foundation

/// A storage in a file that only its owner may read.
///
/// Each change reads the file and replaces it in one step, so that a crash leaves either the old or the new file.
/// Concurrent changes wait for each other, even in different processes. The file is JSON and contains the keys, which
/// are secret.
public actor FileDeviceStorage: DeviceStorage {
    private struct Record: Codable {
        var serial: String
        var name: String?
        var peripheral: String?
        var key: String?
    }

    /// The path of the file.
    public nonisolated let path: String

    /// Creates a storage in the given file, whose directory must exist. A missing file contains no devices.
    public init(path: String) { self.path = path }

    /// All devices, in order of their serial numbers.
    public func all() throws(BLEError) -> [SavedDevice] { try load().values.sorted { $0.serial < $1.serial } }

    /// Returns the entry of a device.
    public func device(_ serial: String) throws(BLEError) -> SavedDevice? { try load()[serial] }

    /// Changes the entry of a device, and writes the file.
    public func update(
        _ serial: String, _ change: @Sendable (SavedDevice?) -> SavedDevice?
    ) throws(BLEError) {
        let lock: PrivateFile.Lock
        do {
            lock = try PrivateFile.Lock(directoryOf: path)
        } catch {
            throw failure("written", error)
        }
        defer { lock.release() }
        var devices = try load()
        let changed = change(devices[serial])
        guard changed != devices[serial] else { return }
        devices[serial] = changed
        try write(devices)
    }

    private func load() throws(BLEError) -> [String: SavedDevice] {
        do {
            return try read()
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
            .storageFailed, "\(path) cannot be \(what): \(FileError.reason(for: error))", isRetryable: false,
            remedy: "Look at the file and its directory.", cause: error)
    }
}
