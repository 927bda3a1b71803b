internal import Foundation

/// Writes files that only their owner may read.
enum PrivateFile {
    /// An error from a system call.
    struct Failure: Error, CustomStringConvertible {
        let call: String
        let number: Int32
        var description: String { "\(call): \(String(cString: strerror(number)))" }
    }

    /// An exclusive lock on a directory, which serializes changes to its files.
    struct Lock {
        private let descriptor: Int32

        /// Waits for the lock.
        init(directoryOf path: String) throws {
            descriptor = try check("open", open(directory(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC))
            var result = flock(descriptor, LOCK_EX)
            while result < 0, errno == EINTR { result = flock(descriptor, LOCK_EX) }
            do {
                try check("flock", result)
            } catch {
                close(descriptor)
                throw error
            }
        }

        func release() { close(descriptor) }
    }

    private static func directory(of path: String) -> String {
        URL(fileURLWithPath: path).deletingLastPathComponent().path
    }

    /// Replaces the file at `path` by one with mode 0600, and waits until it is on disk.
    static func replace(_ path: String, with bytes: [UInt8]) throws {
        // Replaces the target of a symbolic link, not the link itself.
        let target = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
        var name = Array("\(target).XXXXXX".utf8CString)
        // `mkstemp` creates the file with mode 0600.
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
            try check("rename", rename(name, target))
            let directory = try check("open", open(directory(of: target), O_RDONLY | O_DIRECTORY | O_CLOEXEC))
            defer { close(directory) }
            try check("fsync", fsync(directory))
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
