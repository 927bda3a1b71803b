#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// An open regular file.
final class OpenFile: Sendable {
    /// A failed call of the system.
    struct Failure: Error {
        /// The number of the error, as the last call has left it.
        var number = errno

        /// The refusal of a transfer.
        var refusal: TransferRefusal { [ENOSPC, EDQUOT, EFBIG].contains(number) ? .noRoom : .storageFailed }
    }

    private let descriptor: Int32

    /// Opens a file. Throws if that fails, and for links, devices and pipes.
    init(_ path: String, _ flags: Int32) throws(Failure) {
        let descriptor = open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw Failure() }
        self.descriptor = descriptor
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw Failure() }
        guard status.st_mode & S_IFMT == S_IFREG else { throw Failure(number: EINVAL) }
    }

    deinit {
        // A process that is being started has the descriptor, too, and would keep the lock.
        _ = flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// Opens a file, and locks it until it is closed. Throws `EWOULDBLOCK` if it is locked.
    ///
    /// Whoever had the lock before may have moved or discarded the file after it was opened: then it is opened again.
    ///
    /// - Parameter didOpen: called before the file is locked.
    static func locked(_ path: String, _ flags: Int32, didOpen: () -> Void = {}) throws(Failure) -> OpenFile {
        for _ in 0..<8 {
            let file = try OpenFile(path, flags)
            didOpen()
            guard flock(file.descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK else { break }
            if file.isAt(path) { return file }
        }
        throw Failure(number: EWOULDBLOCK)
    }

    /// Whether a path is that of this file.
    func isAt(_ path: String) -> Bool {
        var (own, other) = (stat(), stat())
        return fstat(descriptor, &own) == 0 && lstat(path, &other) == 0
            && own.st_dev == other.st_dev && own.st_ino == other.st_ino
    }

    /// The number of bytes. -1 if it is not known.
    var length: Int {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? Int(status.st_size) : -1
    }

    func read(at offset: Int, count: Int) throws -> [UInt8] {
        var result = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            result = pread(descriptor, buffer.baseAddress, count, off_t(offset))
            initialized = max(0, result)
        }
        guard result >= 0 else { throw Failure().refusal }
        return bytes
    }

    /// Writes all bytes.
    func write(_ bytes: [UInt8], at offset: Int) throws {
        let failure = bytes.withUnsafeBytes { buffer -> Failure? in
            var rest = buffer[...]
            while !rest.isEmpty {
                let position = off_t(offset + rest.startIndex)
                let count = pwrite(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count, position)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return Failure() }
                rest = rest.dropFirst(count)
            }
            return nil
        }
        if let failure { throw failure.refusal }
    }

    func synchronize() -> Bool { fsync(descriptor) == 0 }

    /// Returns the number of bytes that are free on the file system of a path.
    static func freeBytes(at path: String) throws -> UInt64 {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { throw Failure().refusal }
        let (free, isUnlimited) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        return isUnlimited ? .max : free
    }
}
