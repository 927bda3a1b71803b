#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// Writes files that only their owner may read.
enum PrivateFile {
    /// An error from a system call.
    struct Failure: Error, CustomStringConvertible {
        let call: String
        let number: Int32
        var description: String { "\(call): \(String(cString: strerror(number)))" }
    }

    /// An exclusive lock on a file, which serializes its changes, in this process and in others.
    ///
    /// The lock is on another file in the same directory, which is not removed. Only the lock file's owner and root can
    /// open it, so that no other user can hold the lock.
    struct Lock {
        private let descriptor: Int32

        /// Takes the lock, if it is free. Returns nil if it is held.
        init?(of path: String) throws {
            let name = PrivateFile.lockPath(of: path)
            let file = try Self.openFile(name, for: path)
            do {
                try Self.prepare(file, name, path)
                var result = flock(file, LOCK_EX | LOCK_NB)
                while result < 0, errno == EINTR { result = flock(file, LOCK_EX | LOCK_NB) }
                if result < 0, errno == EWOULDBLOCK {
                    close(file)
                    return nil
                }
                try check("flock", result)
            } catch {
                close(file)
                throw error
            }
            descriptor = file
        }

        /// Opens the lock file, or creates it for the owner of `path`.
        private static func openFile(_ name: String, for path: String) throws -> Int32 {
            // A link of another user is not followed, and a pipe of another user is not waited for.
            let flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
            let created = open(name, flags | O_CREAT | O_EXCL, 0o600)
            guard created < 0, errno == EEXIST else {
                try check("open", created)
                do {
                    try PrivateFile.give(created, to: PrivateFile.owner(of: path))
                } catch {
                    close(created)
                    throw error
                }
                return created
            }
            return try check("open", open(name, flags))
        }

        /// Checks that the file belongs to this user, to root or to the owner of `path`, and closes it to others.
        private static func prepare(_ descriptor: Int32, _ name: String, _ path: String) throws {
            var status = stat()
            try check("fstat", fstat(descriptor, &status))
            let isOwn = [geteuid(), 0, PrivateFile.owner(of: path).user].contains(status.st_uid)
            guard status.st_mode & S_IFMT == S_IFREG, isOwn else { throw ForeignLock(path: name) }
            if status.st_mode & 0o777 != 0o600 { try check("fchmod", fchmod(descriptor, 0o600)) }
        }

        func release() {
            // A process that is being started has a copy of the descriptor until it executes its program. If the
            // descriptor were only closed here, the lock would be held until then.
            flock(descriptor, LOCK_UN)
            close(descriptor)
        }
    }

    /// A user and a group.
    private typealias Owner = (user: uid_t, group: gid_t)

    /// The owner of the file at `path`, or of its directory if there is no such file.
    private static func owner(of path: String) -> Owner {
        let target = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
        var status = stat()
        guard stat(target, &status) == 0 || stat(directory(of: target), &status) == 0 else {
            return (geteuid(), getegid())
        }
        return (status.st_uid, status.st_gid)
    }

    /// Gives a file that root has created to the owner of the file that it replaces or locks.
    private static func give(_ descriptor: Int32, to owner: Owner) throws {
        guard geteuid() == 0, owner.user != 0 else { return }
        try check("fchown", fchown(descriptor, owner.user, owner.group))
    }

    /// The lock's file belongs neither to this user, nor to the owner of the file that it locks.
    struct ForeignLock: Error, CustomStringConvertible {
        let path: String
        var description: String { "\(path) is not a file of this user" }
    }

    /// The path of the file beside `path` that is locked for its changes.
    static func lockPath(of path: String) -> String {
        let url = URL(fileURLWithPath: path).resolvingSymlinksInPath()
        return url.deletingLastPathComponent().appendingPathComponent(".\(url.lastPathComponent).lock").path
    }

    private static func directory(of path: String) -> String {
        URL(fileURLWithPath: path).deletingLastPathComponent().path
    }

    /// Replaces the file at `path` with a file with mode 0600, and waits until that is on disk.
    static func replace(_ path: String, with bytes: [UInt8]) throws {
        // Replaces the target of a symbolic link, not the link itself.
        let target = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
        let owner = owner(of: target)
        var name = Array("\(target).XXXXXX".utf8CString)
        // `mkstemp` creates the file with mode 0600.
        let descriptor = try check("mkstemp", mkstemp(&name))
        do {
            defer { close(descriptor) }
            try check("fchmod", fchmod(descriptor, 0o600))
            try give(descriptor, to: owner)
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
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
