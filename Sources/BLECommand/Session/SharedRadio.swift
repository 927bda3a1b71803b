import BLE
import BLEFakeBlueZ
import BLESimulation
import Logging

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The simulated radio that the commands of a user share: a fake bluetoothd, in the command that was first to serve.
///
/// It lasts as long as that command. What is served does not use the adapter hci0, because an adapter does not receive
/// itself. Each command that serves has another one.
final class SharedRadio: Sendable {
    /// The adapters of hosts.
    private static let adapters = ["hci1", "hci2", "hci3"]

    /// An adapter that no other command serves on, until this is released.
    struct Place {
        let adapter: String
        /// The address of the radio's bus.
        let address: String
        fileprivate let name: BusName

        func release() async { await name.release() }
    }

    private let bus: PrivateBus
    private let daemon: FakeBlueZ
    private let path: String
    /// The number of the socket's file.
    private let file: ino_t

    private init(_ bus: PrivateBus, _ daemon: FakeBlueZ, _ path: String, _ file: ino_t) {
        (self.bus, self.daemon, self.path, self.file) = (bus, daemon, path, file)
    }

    deinit {
        // Another command may have taken the path.
        if Self.facts(of: path)?.st_ino == file { unlink(path) }
    }

    /// The path of its socket, from `BLE_SIMULATED_RADIO` or in the user's runtime directory. Nil if commands share
    /// nothing: the variable is empty, or the machine has no such directory.
    static var path: String? {
        // In virtual time, a daemon would be in another.
        guard !CommandClock.isVirtual else { return nil }
        if let path = getenv("BLE_SIMULATED_RADIO").map({ String(cString: $0) }) { return path.isEmpty ? nil : path }
        guard let folder = getenv("XDG_RUNTIME_DIR").map({ String(cString: $0) }), !folder.isEmpty else { return nil }
        return folder + "/ble-simulated-radio"
    }

    /// The address of the one that is there. Nil if there is none.
    ///
    /// Throws `unauthorized` for a socket of another user, who could offer anything.
    static func address() throws(BLEError) -> String? {
        guard let path, PrivateBus.isUsed(path), let file = facts(of: path) else { return nil }
        guard file.st_uid == geteuid() else {
            throw BLEError(
                .unauthorized, "the socket “\(path)” belongs to another user", isRetryable: false,
                remedy: "Set BLE_SIMULATED_RADIO to another path, or to nothing.")
        }
        return PrivateBus.address(path)
    }

    /// The facts of the file itself, not of what a link leads to, which another user could change.
    private static func facts(of path: String) -> stat? {
        var facts = stat()
        return lstat(path, &facts) == 0 ? facts : nil
    }

    /// Reserves an adapter of the one that is there: by default, the first that is free. Nil if there is none.
    ///
    /// - Throws: `busy` if another command serves on the adapter, or others on all of them; `unauthorized` as
    ///   ``address()``.
    static func place(on wanted: String?) async throws(BLEError) -> Place? {
        guard let address = try address() else { return nil }
        let adapters = wanted.map { [$0] } ?? Self.adapters
        for adapter in adapters {
            do throws(BLEError) {
                let name = try await BusName("ble.Radio.\(adapter)", at: address)
                return Place(adapter: adapter, address: address, name: name)
            } catch {
                guard error.code == .busy else { throw error }
            }
        }
        throw BLEError(
            .busy, "other commands serve on \(adapters.joined(separator: ", ")) of the shared radio",
            isRetryable: true,
            remedy: wanted == nil
                ? "End one of them, or serve on a radio of its own: BLE_SIMULATED_RADIO= ble serve …"
                : "End that command, or leave out --adapter.")
    }

    /// Starts one with the usual peripherals. Nil if commands share nothing, or another command has just started it.
    static func start(_ logger: Logger) async throws -> SharedRadio? {
        guard let path else { return nil }
        return try await StartLock.with(path + ".lock") {
            guard try address() == nil else { return nil }
            // Others find it once it is ready.
            let folder = path.lastIndex(of: "/").map { path[...$0] } ?? ""
            let hidden = "\(folder).\(getpid())"
            guard let bus = try await newBus(hidden) else { return nil }
            let radio = SimulatedRadio(logger: logger)
            let daemon = FakeBlueZ(address: bus.address, radio: radio, minorVersion: 66, logger: logger)
            try await FakeWorld(radio: radio, daemon: daemon).fill(with: FakePeripheral.usual)
            for adapter in adapters { await daemon.addAdapter(adapter) }
            try await daemon.start()
            // What is no socket is no radio that has ended.
            let isFree = facts(of: path).map { $0.st_mode & S_IFMT == S_IFSOCK } ?? true
            guard isFree, let file = facts(of: hidden)?.st_ino, rename(hidden, path) == 0 else {
                let reason = isFree ? String(cString: strerror(errno)) : "there is a file of that name"
                throw BLEError(
                    .bluetoothUnavailable, "the socket “\(path)” cannot be made: \(reason)",
                    isRetryable: false, remedy: "Set BLE_SIMULATED_RADIO to another path.")
            }
            return SharedRadio(bus, daemon, path, file)
        }
    }

    /// Returns nil if there can be none, and the path was not asked for: then the command has a radio of its own.
    private static func newBus(_ path: String) async throws(BLEError) -> PrivateBus? {
        do {
            return try await PrivateBus(path: path)
        } catch {
            guard getenv("BLE_SIMULATED_RADIO") != nil else { return nil }
            throw error
        }
    }
}

/// What one command at a time holds while it starts the shared radio: a file that is locked.
private enum StartLock {
    /// More than a command needs to start a radio.
    private static let patience = Duration.seconds(20)

    /// Does the work while no other command does. Without a directory for the file, nothing is locked.
    ///
    /// Throws `busy` if another command does not come to an end.
    static func with<Value: Sendable>(_ path: String, _ work: () async throws -> Value) async throws -> Value {
        guard let file = try await locked(path) else { return try await work() }
        defer {
            // Before others can lock it: they look whether it is still there.
            unlink(path)
            close(file)
        }
        return try await work()
    }

    private static func locked(_ path: String) async throws -> CInt? {
        let elapsed = CommandClock.elapsed(ContinuousClock())
        while elapsed() < patience {
            let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard file >= 0 else { return nil }
            let isLocked = flock(file, LOCK_EX | LOCK_NB) == 0
            let isTaken = !isLocked && errno == EWOULDBLOCK
            var (ours, present) = (stat(), stat())
            if isLocked, fstat(file, &ours) == 0, stat(path, &present) == 0, ours.st_ino == present.st_ino {
                return file
            }
            close(file)
            // Some file systems have no locks.
            guard isLocked || isTaken else { return nil }
            if isTaken { try await Task.sleep(for: .milliseconds(20)) }
        }
        throw BLEError(.busy, "another command has been starting the simulated radio for \(patience)")
    }
}
