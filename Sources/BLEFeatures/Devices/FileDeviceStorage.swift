public import BLE

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

/// A storage in a file that only its owner may read.
///
/// Each change reads the file and replaces it in one step, so that a crash leaves either the old or the new file.
/// Concurrent changes wait for each other, even in different processes of the user: they lock the file `.NAME.lock` in
/// the same directory, which is not removed. The file is JSON and contains the keys, which are secret. The directory
/// must be the user's own: in a directory that other users can write to, they can create a file with the lock's name.
public actor FileDeviceStorage: DeviceStorage {
    private struct Record: Codable {
        var serial: String
        var name: String?
        var peripheral: String?
        var key: String?
    }

    /// The path of the file.
    public nonisolated let path: String

    private let lockTimeout: Duration
    private let clock: any Clock<Duration>

    /// Creates a storage in the given file, whose directory must exist. A missing file contains no devices.
    ///
    /// - Parameters:
    ///   - lockTimeout: the maximum time that a change waits for the changes of other programs.
    ///   - clock: the clock that measures this time.
    public init(
        path: String, lockTimeout: Duration = .seconds(5), clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.path = path
        self.lockTimeout = lockTimeout
        self.clock = clock
    }

    /// All devices, in order of their serial numbers.
    public func all() throws(BLEError) -> [SavedDevice] { try load().values.sorted { $0.serial < $1.serial } }

    /// Returns the entry of a device.
    public func device(_ serial: String) throws(BLEError) -> SavedDevice? { try load()[serial] }

    /// Changes the entry of a device, and writes the file.
    ///
    /// Throws `storageFailed` and `cancelled`. The cause of `storageFailed` is `busy` if another program holds the
    /// file's lock for the whole time limit.
    public func update(
        _ serial: String, _ change: @Sendable (SavedDevice?) -> SavedDevice?
    ) async throws(BLEError) {
        // Must not suspend from here on, so that the lock is released before another change of this storage begins.
        let lock = try await lock()
        defer { lock.release() }
        var devices = try load()
        let changed = change(devices[serial])
        guard changed != devices[serial] else { return }
        devices[serial] = changed
        try write(devices)
    }

    /// The pauses between attempts to lock the file, in milliseconds. They are random, so that attempts do not coincide
    /// with the changes of a program that makes them at regular intervals.
    private static let pauses = 1...20

    private func lock() async throws(BLEError) -> PrivateFile.Lock {
        var waited = Duration.zero
        while true {
            do {
                if let lock = try PrivateFile.Lock(of: path) { return lock }
            } catch {
                throw failure("written", error)
            }
            guard waited < lockTimeout else {
                throw BLEError(
                    .storageFailed, "\(path) is being changed by another program", isRetryable: true,
                    remedy: "End the other program.",
                    cause: BLEError(.busy, "the lock was held for \(lockTimeout)"))
            }
            let pause = min(.milliseconds(Int.random(in: Self.pauses)), lockTimeout - waited)
            guard (try? await clock.sleep(for: pause)) != nil else { throw .cancelled }
            waited += pause
        }
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
            remedy: "Check the file and its directory.", cause: error)
    }
}
