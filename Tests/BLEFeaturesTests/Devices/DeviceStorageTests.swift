import BLE
import BLESimulation
import BLETestSupport
import Foundation
import Testing

@testable import BLEFeatures

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

    @Test func `a file keeps everything, for its owner's eyes only, with nothing beside it but its lock`() async throws
    {
        defer { try? FileManager.default.removeItem(at: directory) }
        try await FileDeviceStorage(path: path).update(Self.lock.serial) { _ in Self.lock }
        try await FileDeviceStorage(path: path).update(Self.lamp.serial) { _ in Self.lamp }
        #expect(try await FileDeviceStorage(path: path).all() == [Self.lamp, Self.lock])
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
                == [".devices.json.lock", "devices.json"])
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

    // MARK: The lock

    private var lockPath: String { directory.appendingPathComponent(".devices.json.lock").path }

    /// Holds the lock, as another program of the user does. The caller passes the result to `releaseLock(_:)`.
    private func holdLock() -> Int32 {
        let descriptor = open(lockPath, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        #expect(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
        return descriptor
    }

    /// Unlocks instead of only closing the file: a process that another suite is starting may have it open for a
    /// moment, too.
    private func releaseLock(_ descriptor: Int32) {
        #expect(flock(descriptor, LOCK_UN) == 0)
        close(descriptor)
    }

    /// Waits for a change. A cancelled test cancels it.
    private func end(_ change: Task<Void, any Error>) async throws {
        try await withTaskCancellationHandler {
            try await change.value
        } onCancel: {
            change.cancel()
        }
    }

    private func update(_ clock: any Clock<Duration>) -> Task<Void, any Error> {
        let storage = FileDeviceStorage(path: path, lockTimeout: .seconds(5), clock: clock)
        return Task { try await storage.update(Self.lock.serial) { _ in Self.lock } }
    }

    @Test(.hangLimit) func `a change waits for that of another program, up to its time limit`() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let clock = ManualClock()
        let held = holdLock()
        let late = update(clock)
        let passing = Task {
            while !Task.isCancelled {
                await clock.sleepers(1)
                clock.advance(by: .milliseconds(1))
            }
        }
        let error = await #expect(throws: BLEError.self) { try await end(late) }
        passing.cancel()
        #expect(error?.code == .storageFailed && error?.isRetryable == true)
        #expect((error?.cause as? BLEError)?.code == .busy)
        #expect(!FileManager.default.fileExists(atPath: path))

        let next = update(clock)
        // It checks often, regardless of how long it has waited.
        for _ in 0..<50 {
            await clock.sleepers(1)
            clock.advance(by: .milliseconds(20))
        }
        await clock.sleepers(1)
        releaseLock(held)
        clock.advance(by: .milliseconds(20))
        try await end(next)
        #expect(try await FileDeviceStorage(path: path).all() == [Self.lock])
    }

    @Test func `a lock that is released is free, although a process that is being started still has it`() throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let first = try #require(try PrivateFile.Lock(of: path))
        // The effect of a fork, until the process executes its program.
        let inherited = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { Int32($0) }
            .filter { (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == lockPath }
            .map { fcntl($0, F_DUPFD_CLOEXEC, 0) }
        defer { for descriptor in inherited { close(descriptor) } }
        #expect(inherited.count == 1)
        #expect(try PrivateFile.Lock(of: path) == nil)
        first.release()
        let second = try PrivateFile.Lock(of: path)
        #expect(second != nil)
        second?.release()
    }

    @Test(.enabled(if: geteuid() == 0, "only root can change the owner of a file"))
    func `what root changes stays the user's`() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        func owner(_ path: String) throws -> Int? {
            try FileManager.default.attributesOfItem(atPath: path)[.ownerAccountID] as? Int
        }
        #expect(chown(directory.path, 65534, 65534) == 0)
        try await FileDeviceStorage(path: path).update(Self.lock.serial) { _ in Self.lock }
        #expect(try owner(path) == 65534 && owner(lockPath) == 65534)
        // The user's own lock is not accepted as another user's.
        try await FileDeviceStorage(path: path).update(Self.lamp.serial) { _ in Self.lamp }
        #expect(try owner(path) == 65534 && owner(lockPath) == 65534)
        #expect(try await FileDeviceStorage(path: path).all().count == 2)
    }

    @Test(.hangLimit) func `a change that waits is cancelled at once`() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let clock = ManualClock()
        let held = holdLock()
        defer { close(held) }
        let waiting = update(clock)
        await clock.sleepers(1)
        waiting.cancel()
        let error = await #expect(throws: BLEError.self) { try await end(waiting) }
        #expect(error?.code == .cancelled)
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func `a lock on the directory, which any user can have, delays nothing`() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let descriptor = open(directory.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { close(descriptor) }
        #expect(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
        // Its clock stands still.
        try await update(ManualClock()).value
        #expect(try await FileDeviceStorage(path: path).all() == [Self.lock])
    }

    @Test func `other users cannot open the lock, and one that is not a file of the user is refused`() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        close(open(lockPath, O_RDWR | O_CREAT | O_CLOEXEC, 0o666))
        try await update(ManualClock()).value
        let attributes = try FileManager.default.attributesOfItem(atPath: lockPath)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        for obstacle in ["link", "pipe", "directory"] {
            unlink(lockPath)
            switch obstacle {
            case "link": #expect(symlink("/dev/null", lockPath) == 0)
            case "pipe": #expect(mkfifo(lockPath, 0o600) == 0)
            default: #expect(mkdir(lockPath, 0o700) == 0)
            }
            let error = await #expect(throws: BLEError.self) { try await update(ManualClock()).value }
            #expect(error?.code == .storageFailed, "\(obstacle)")
        }
        // A file of another user, which only root can make.
        guard geteuid() == 0 else { return }
        rmdir(lockPath)
        close(open(lockPath, O_RDWR | O_CREAT | O_CLOEXEC, 0o600))
        #expect(chown(lockPath, 65534, 65534) == 0)
        let error = await #expect(throws: BLEError.self) { try await update(ManualClock()).value }
        #expect(error?.code == .storageFailed)
    }
}
