public import BLE
internal import Dispatch
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// Stores received files in a directory.
///
/// The bytes that have arrived of a file are in a part, `NAME.IDENTITY.part`, until the checksum is right; then the
/// part replaces an earlier file of the name. The identity, 16 digits, is that of the contents, so that a transfer goes
/// on only with its own part, also in a later process. A part exists from the first byte on, and there is one for each
/// name at most, the one that was written last. Parts that are not being received are discarded if there are too many,
/// or if that makes room for a file, those that were written least recently first.
///
/// Names with “/”, “\\”, control characters or a leading “.”, names that end with “.part”, and those of directories are
/// refused, and links are not followed. Two processes can use the same directory: a part that one receives is refused
/// with ``TransferRefusal/busy`` in the other.
public final class DirectoryTransferStorage: TransferStorage {
    private enum Open {
        case part(OpenFile)
        /// A complete file.
        case whole(OpenFile)

        var file: OpenFile {
            switch self {
            case .part(let file), .whole(let file): file
            }
        }
    }

    private struct State {
        /// Nil before the directory was read.
        var parts: TransferParts?
        /// The parts and files that are in use.
        var open: [TransferParts.Key: Open] = [:]
    }

    private let path: String
    private let maximumParts: Int
    private let reserve: Int
    private let onFile: @Sendable (TransferFile) async -> Void
    /// Returns the number of bytes that are free where a path is.
    private let freeBytes: @Sendable (_ path: String) throws -> UInt64
    private let state = Mutex(State())
    /// File systems may block for seconds, and the threads of tasks must not.
    private let queue = DispatchQueue(label: "ble transfers", attributes: .concurrent)

    /// Creates a storage. Throws `invalidArgument` if the path is not that of a directory that can be written.
    ///
    /// - Parameters:
    ///   - path: the path of the directory.
    ///   - maximumParts: the maximum number of parts. It should be at least the number of files that are received at
    ///     the same time: more are refused with ``TransferRefusal/busy``.
    ///   - reserve: the number of bytes of the file system that stay free. 64 MiB by default.
    ///   - onFile: called with each file that is complete.
    public convenience init(
        _ path: String, maximumParts: Int = 64, reserve: Int = 1 << 26,
        onFile: @escaping @Sendable (TransferFile) async -> Void = { _ in }
    ) throws(BLEError) {
        try self.init(
            path, maximumParts: maximumParts, reserve: reserve, freeBytes: { try OpenFile.freeBytes(at: $0) },
            onFile: onFile)
    }

    /// Creates a storage on a file system whose free bytes are measured by a function.
    init(
        _ path: String, maximumParts: Int = 64, reserve: Int,
        freeBytes: @escaping @Sendable (_ path: String) throws -> UInt64,
        onFile: @escaping @Sendable (TransferFile) async -> Void = { _ in }
    ) throws(BLEError) {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, access(path, W_OK | X_OK) == 0 else {
            throw BLEError(
                .invalidArgument, "\(path) is not a directory that can be written", isRetryable: false)
        }
        self.path = path
        self.maximumParts = max(1, maximumParts)
        self.reserve = max(0, reserve)
        self.freeBytes = freeBytes
        self.onFile = onFile
    }

    // MARK: Paths

    private func path(of file: TransferFile) -> String { "\(path)/\(file.name)" }
    private func partPath(of file: TransferFile) -> String { "\(path)/\(TransferParts.name(of: file))" }

    /// Whether a name stays in the directory, and is not that of a part.
    static func accepts(name: String) -> Bool {
        // Some file systems compare names without case.
        let end = name.utf8.suffix(TransferParts.suffix.utf8.count).map { 0x41...0x5A ~= $0 ? $0 | 0x20 : $0 }
        return TransferFile.isPlain(name: name) && !end.elementsEqual(TransferParts.suffix.utf8)
    }

    // MARK: Storage

    /// Performs file work on a thread that may block.
    private func perform<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result { try work() }) }
        }
    }

    /// Returns the length of the part, or that of a complete file of the same length, whose checksum is compared next.
    public func begin(_ file: TransferFile, isNew: Bool, from peer: DeviceID) async throws -> Int {
        try await perform { try self.begin(file, isNew: isNew, from: peer) }
    }

    private func begin(_ file: TransferFile, isNew: Bool, from peer: DeviceID) throws -> Int {
        guard Self.accepts(name: file.name) else { throw TransferRefusal.nameRefused }
        var status = stat()
        if lstat(path(of: file), &status) == 0, status.st_mode & S_IFMT == S_IFDIR { throw TransferRefusal.nameRefused }
        let key = TransferParts.key(of: file)
        let isFree = try state.withLock { state in
            var parts = try state.parts ?? readParts()
            defer { state.parts = parts }
            guard parts.begin(file, from: peer) else { return false }
            state.open[key] = nil
            return true
        }
        guard isFree else { throw TransferRefusal.busy }
        do {
            var part = try openPart(of: file, O_RDWR)
            if let found = part, isNew || found.length > file.length {
                unlink(partPath(of: file))
                part = nil
            }
            // Another process may have made, completed or discarded it.
            state.withLock { [part] state in
                if part == nil { state.parts?.remove(file) } else { state.parts?.didCreate(file) }
            }
            let whole = isNew || part != nil ? nil : try? OpenFile(path(of: file), O_RDONLY)
            if let whole, whole.length == file.length {
                state.withLock { $0.open[key] = .whole(whole) }
                return file.length
            }
            let length = part?.length ?? 0
            guard length >= 0 else { throw TransferRefusal.storageFailed }
            // Parts are discarded when bytes arrive: an offer alone discards none.
            guard try couldHaveRoom(for: file.length - length) else { throw TransferRefusal.noRoom }
            state.withLock { [part] in $0.open[key] = part.map(Open.part) }
            return length
        } catch {
            end(file)
            throw error
        }
    }

    /// Opens the part of a file, for this process only. Nil if there is none. What is no file is discarded.
    private func openPart(of file: TransferFile, _ flags: Int32) throws -> OpenFile? {
        do throws(OpenFile.Failure) {
            return try OpenFile.locked(partPath(of: file), flags)
        } catch  where error.number == ENOENT {
            return nil
        } catch  where error.number == EWOULDBLOCK {
            throw TransferRefusal.busy
        } catch  where [ELOOP, EINVAL, ENXIO].contains(error.number) {
            // A link, a pipe or a socket.
            guard unlink(partPath(of: file)) == 0 else { throw error.refusal }
            return nil
        } catch {
            throw error.refusal
        }
    }

    /// Whether there is room for a number of bytes, or would be without the parts that are not being received.
    private func couldHaveRoom(for count: Int) throws -> Bool {
        guard try !hasRoom(for: count) else { return true }
        let idle = state.withLock { $0.parts?.idle ?? [] }.reduce(0) { sum, name in
            var status = stat()
            return lstat("\(path)/\(name)", &status) == 0 ? sum + Int(status.st_blocks) * 512 : sum
        }
        return try hasRoom(for: count - min(count, idle))
    }

    /// Discards parts that are not being received until there is room for a number of bytes.
    private func makeRoom(for count: Int) throws {
        while try !hasRoom(for: count) {
            guard let oldest = state.withLock({ $0.parts?.discardOldest() }) else { throw TransferRefusal.noRoom }
            discardPart(oldest)
        }
    }

    private func hasRoom(for count: Int) throws -> Bool {
        try UInt64(count) + UInt64(reserve) <= freeBytes(path)
    }

    /// Returns bytes of the part, or of the complete file.
    public func read(_ file: TransferFile, at offset: Int, maximumLength: Int) async throws -> ArraySlice<UInt8> {
        try await perform {
            guard let open = self.open(file) else { throw TransferRefusal.storageFailed }
            let bytes = try open.file.read(at: offset, count: maximumLength)
            guard !bytes.isEmpty else { throw TransferRefusal.storageFailed }
            return bytes[...]
        }
    }

    /// Appends bytes to the part. Discards parts that are not being received to make room. Throws `noRoom`, and keeps
    /// the part, if the file system has become full.
    public func write(_ bytes: [UInt8], at offset: Int, of file: TransferFile) async throws {
        try await perform {
            guard try self.couldHaveRoom(for: bytes.count) else { throw TransferRefusal.noRoom }
            if offset == 0, self.open(file) == nil { try self.createPart(of: file) }
            guard case .part(let part)? = self.open(file), part.length == offset else {
                throw TransferRefusal.storageFailed
            }
            for name in self.state.withLock({ $0.parts?.willWrite(file) ?? [] }) { self.discardPart(name) }
            do {
                try self.makeRoom(for: bytes.count)
                try part.write(bytes, at: offset)
            } catch {
                // There is no part without data.
                if part.length == 0 { self.discard(part, of: file) }
                throw error
            }
        }
    }

    private func open(_ file: TransferFile) -> Open? { state.withLock { $0.open[TransferParts.key(of: file)] } }

    private func createPart(of file: TransferFile) throws {
        guard let part = try openPart(of: file, O_RDWR | O_CREAT | O_EXCL) else { throw TransferRefusal.storageFailed }
        state.withLock { state in
            state.open[TransferParts.key(of: file)] = .part(part)
            state.parts?.didCreate(file)
        }
    }

    /// Makes the part the file, in place of an earlier one of the name.
    public func finish(_ file: TransferFile) async throws {
        let isNew = try await perform {
            if file.length == 0, self.open(file) == nil { try self.createPart(of: file) }
            guard let open = self.open(file), open.file.length == file.length else {
                throw TransferRefusal.storageFailed
            }
            // It was complete before.
            guard case .part(let part) = open else { return false }
            // The file must not be empty after a power failure, and the path must still be that of the part.
            guard part.synchronize() else { throw OpenFile.Failure().refusal }
            guard part.isAt(self.partPath(of: file)) else { throw TransferRefusal.storageFailed }
            guard rename(self.partPath(of: file), self.path(of: file)) == 0 else { throw OpenFile.Failure().refusal }
            self.state.withLock { state in
                state.open[TransferParts.key(of: file)] = .whole(part)
                state.parts?.remove(file)
            }
            return true
        }
        if isNew { await onFile(file) }
    }

    /// Discards the part.
    public func discard(_ file: TransferFile) async throws {
        try await perform {
            guard case .part(let part)? = self.open(file) else { return }
            self.discard(part, of: file)
        }
    }

    private func discard(_ part: OpenFile, of file: TransferFile) {
        if part.isAt(partPath(of: file)) { unlink(partPath(of: file)) }
        state.withLock { state in
            state.open[TransferParts.key(of: file)] = nil
            state.parts?.remove(file)
        }
    }

    /// Keeps the part until there are too many, or its room is needed.
    public func suspend(_ file: TransferFile) async { end(file) }

    private func end(_ file: TransferFile) {
        state.withLock { state in
            state.open[TransferParts.key(of: file)] = nil
            state.parts?.suspend(file)
        }
    }

    // MARK: Parts

    /// Returns the parts in the directory, the one that was written least recently first.
    private func readParts() throws -> TransferParts {
        var found: [(name: String, seconds: Int, nanoseconds: Int)] = []
        guard let directory = opendir(path) else { throw OpenFile.Failure().refusal }
        defer { closedir(directory) }
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            var status = stat()
            guard TransferParts.isPart(name), lstat("\(path)/\(name)", &status) == 0,
                status.st_mode & S_IFMT == S_IFREG
            else { continue }
            #if canImport(Darwin)
                let time = status.st_mtimespec
            #else
                let time = status.st_mtim
            #endif
            found.append((name, Int(time.tv_sec), Int(time.tv_nsec)))
        }
        found.sort { ($0.seconds, $0.nanoseconds, $0.name) < ($1.seconds, $1.nanoseconds, $1.name) }
        return TransferParts(found.map(\.name), maximum: maximumParts)
    }

    /// Discards a part, unless another process receives it.
    private func discardPart(_ name: String) {
        guard let part = try? OpenFile.locked("\(path)/\(name)", O_RDWR) else { return }
        withExtendedLifetime(part) { _ = unlink("\(path)/\(name)") }
    }
}
