public import BLE

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// An open file for one recording, or a pipe or a device.
struct RecordingFile: Sendable {
    private let descriptor: Int32

    /// Whether it is a file of a file system.
    let isRegular: Bool

    /// Opens a file, or creates one that only this user can read, without changing what it contains.
    init(_ path: String) throws(BLEError) {
        while true {
            // A pipe without a reader would block.
            let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0o600)
            guard descriptor >= 0 else { throw Self.error(errno, path) }
            _ = fcntl(descriptor, F_SETFL, O_WRONLY)
            var (facts, present) = (stat(), stat())
            self.init(
                descriptor, isRegular: fstat(descriptor, &facts) == 0 && facts.st_mode & S_IFMT == S_IFREG)
            guard isRegular else { return }
            // Two recordings in one file would be none.
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK else {
                _ = close()
                throw BLEError(
                    .recordingFailed, "the recording “\(path)” cannot be written: another recorder writes it",
                    isRetryable: false, remedy: "Choose another file.")
            }
            // Another file may have replaced it before it was locked.
            if stat(path, &present) == 0, present.st_ino == facts.st_ino, present.st_dev == facts.st_dev { return }
            _ = close()
        }
    }

    private init(_ descriptor: Int32, isRegular: Bool = true) {
        (self.descriptor, self.isRegular) = (descriptor, isRegular)
    }

    /// Only this user can read what follows.
    func makePrivate() {
        if isRegular { _ = fchmod(descriptor, 0o600) }
    }

    func truncate() { _ = ftruncate(descriptor, 0) }

    /// Writes everything. Returns why it could not.
    func write(_ data: Data) -> BLEError? {
        var rest = data[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { writeWithoutSignal(descriptor, $0) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return Self.error(errno) }
            rest = rest.dropFirst(count)
        }
        return nil
    }

    /// Closes it, whether or not that succeeds. Returns why what was written is lost.
    func close() -> BLEError? {
        #if canImport(Glibc)
            let status = Glibc.close(descriptor)
        #elseif canImport(Musl)
            let status = Musl.close(descriptor)
        #else
            let status = Darwin.close(descriptor)
        #endif
        return status == 0 || errno == EINTR ? nil : Self.error(errno)
    }

    /// Writes a file that only this user can read, and puts it in the place of one of that name, unless a recorder
    /// writes that.
    static func replace(_ path: String, with data: Data) throws(BLEError) {
        var present = try presentFile(path)
        defer { _ = present?.close() }
        if let present, !present.isRegular || ["/dev/", "/proc/"].contains(where: path.hasPrefix) {
            if let error = present.write(data) { throw error }
            return
        }
        var (name, error) = try writeTemporary(data, beside: present == nil ? path : resolved(path), path)
        // A name that is still free is taken without replacing what another program creates meanwhile.
        if error == nil, present == nil, link(name, path) != 0 {
            do throws(BLEError) {
                present = try RecordingFile(path)
            } catch let other {
                error = other
            }
        }
        if error == nil, present != nil, rename(name, resolved(path)) != 0 { error = Self.error(errno, path) }
        unlink(name)
        if let error { throw error }
    }

    private static func presentFile(_ path: String) throws(BLEError) -> RecordingFile? {
        var facts = stat()
        return stat(path, &facts) == 0 ? try RecordingFile(path) : nil
    }

    /// Returns the path of a new file, and why it is not complete.
    private static func writeTemporary(
        _ data: Data, beside place: String, _ path: String
    ) throws(BLEError) -> (name: [CChar], error: BLEError?) {
        var name = Array((place + ".XXXXXX").utf8CString)
        let descriptor = mkstemp(&name)
        guard descriptor >= 0 else { throw Self.error(errno, path) }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        let file = RecordingFile(descriptor)
        let writing = file.write(data)
        let closing = file.close()
        return (name, writing ?? closing)
    }

    /// Returns what a link leads to, because that is replaced, not the link.
    private static func resolved(_ path: String) -> String {
        guard let found = realpath(path, nil) else { return path }
        defer { free(found) }
        return String(cString: found)
    }

    private static func error(_ number: Int32, _ path: String? = nil) -> BLEError {
        let reason = String(cString: strerror(number))
        return BLEError(
            .recordingFailed, "the recording\(path.map { " “\($0)”" } ?? "") cannot be written: \(reason)",
            isRetryable: false)
    }
}

extension Recording {
    /// Writes the recording to a file, which only this user can read. A file of that name is replaced when everything
    /// is written, or stays as it is. A pipe, a device, and what a path in `/dev` or `/proc` names is written into.
    ///
    /// Throws `recordingFailed`, also if the file cannot be created beside the one that it replaces.
    public func write(to path: String) throws(BLEError) { try RecordingFile.replace(path, with: lines) }

    /// Writes the recording to a btsnoop capture, as ``write(to:)`` does; see ``btsnoop()``.
    ///
    /// Throws `recordingFailed`.
    public func writeBTSnoop(to path: String) throws(BLEError) { try RecordingFile.replace(path, with: btsnoop()) }
}

/// Writes, and returns an error instead of a signal if the reader of a pipe is gone.
private func writeWithoutSignal(_ file: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    #if canImport(Darwin)
        _ = fcntl(file, F_SETNOSIGPIPE, 1)
        return write(file, bytes.baseAddress, bytes.count)
    #else
        var (signals, before) = (sigset_t(), sigset_t())
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, &before)
        let count = write(file, bytes.baseAddress, bytes.count)
        let number = errno
        if count < 0, number == EPIPE, sigismember(&before, SIGPIPE) == 0 {
            // The signal waits for this thread.
            var none = timespec()
            sigtimedwait(&signals, nil, &none)
        }
        pthread_sigmask(SIG_SETMASK, &before, nil)
        errno = number
        return count
    #endif
}
