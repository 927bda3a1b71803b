import BLE

#if DeviceCommands
    import BLEESPHome
    import FoundationEssentials

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    /// The file that has the key of a proxy, which only its owner may read, and the one beside it that has the address
    /// by which clients know the proxy.
    struct ProxyKeyFile {
        let path: String

        /// The file of this user, in the directory of ``StateDirectory``.
        ///
        /// Throws `invalidArgument` if the environment names no directory for it.
        static func ofUser(_ environment: [String: String]) throws(BLEError) -> ProxyKeyFile {
            guard let folder = StateDirectory.path(environment) else {
                throw BLEError(
                    .invalidArgument, "there is no directory for the key: neither HOME nor XDG_STATE_HOME is set",
                    isRetryable: false, remedy: "Give a path with --key-file.")
            }
            return ProxyKeyFile(path: folder + "/proxy.key")
        }

        private var keyFile: PrivateLine { PrivateLine(path: path, what: "key file", forbidden: 0o066) }

        /// `proxy.address` beside `proxy.key`. Others may read it: everybody in the network learns it.
        private var addressFile: PrivateLine {
            let stem = path.hasSuffix(".key") ? String(path.dropLast(4)) : path
            return PrivateLine(path: stem + ".address", what: "file of the address", forbidden: 0o022)
        }

        /// Returns the key, and whether it was made now because there was no file.
        ///
        /// Throws `unauthorized` for a file that others may read or change, and `failed` if it cannot be read or made,
        /// or has no key.
        func readOrMake() throws(BLEError) -> (key: EncryptionKey, isNew: Bool) {
            let (text, isNew) = try keyFile.readOrMake { EncryptionKey.random().text }
            guard let key = try? EncryptionKey(text) else {
                throw keyFile.failure(
                    "has no key: Base64 of 32 bytes", remedy: "Remove it, and the proxy makes a key.")
            }
            return (key, isNew)
        }

        /// Returns the address that was kept. Nil if none was.
        ///
        /// Throws `unauthorized` for a file that others may change, and `failed` if it cannot be read or has no
        /// address.
        func readAddress() throws(BLEError) -> String? {
            guard let text = try addressFile.read() else { return nil }
            return try address(text)
        }

        /// Keeps an address, unless one is kept already. Returns the one that is kept.
        func keepAddress(_ address: String) throws(BLEError) -> String {
            try self.address(try addressFile.readOrMake { address }.text)
        }

        static func isAddress(_ text: String) -> Bool { text.wholeMatch(of: /([0-9A-F]{2}:){5}[0-9A-F]{2}/) != nil }

        private func address(_ text: String) throws(BLEError) -> String {
            guard Self.isAddress(text) else {
                throw addressFile.failure(
                    "has no address", remedy: "Remove it, or give the address with --address.")
            }
            return text
        }
    }

    /// A file with one line of text that only its owner may change.
    private struct PrivateLine {
        let path: String
        /// What it is, for errors.
        let what: String
        /// The bits of its mode that are not accepted.
        let forbidden: mode_t

        /// The maximum length of the file, in bytes. A key has 44 characters.
        private static let maximumCount = 256

        /// Returns the text, and whether it was made now because there was no file.
        func readOrMake(_ text: () -> String) throws(BLEError) -> (text: String, isNew: Bool) {
            if let text = try read() { return (text, false) }
            let text = text()
            if try make(text) { return (text, true) }
            // Another process has made it meanwhile.
            guard let text = try read() else { throw failure("has been removed", remedy: "Start the proxy again.") }
            return (text, false)
        }

        func failure(_ what: String, code: BLEError.Code = .failed, remedy: String) -> BLEError {
            BLEError(code, "the \(self.what) “\(path)” \(what)", isRetryable: false, remedy: remedy)
        }

        private static func reason(_ number: Int32) -> String { String(cString: strerror(number)) }

        /// Returns the text without spaces around it, empty if it is not one word. Nil if there is no file.
        func read() throws(BLEError) -> String? {
            // A link is not followed, because another user could change where it leads, and a pipe is not waited for.
            let file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
            guard file >= 0 else {
                let number = errno
                if number == ENOENT { return nil }
                throw failure("cannot be read: \(Self.reason(number))", remedy: "Give a regular file of this user.")
            }
            defer { close(file) }
            var facts = stat()
            guard fstat(file, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else {
                throw failure("is not a regular file", remedy: "Give another path with --key-file.")
            }
            guard facts.st_uid == geteuid() || facts.st_uid == 0 else {
                throw failure("belongs to another user", code: .unauthorized, remedy: "Give a file of this user.")
            }
            let found = facts.st_mode & forbidden
            guard found == 0 else {
                let ways = [(0o044, "read"), (0o022, "written")].filter { found & $0.0 != 0 }.map(\.1)
                throw failure(
                    "can be \(ways.joined(separator: " and ")) by others", code: .unauthorized,
                    remedy: "Remove it, and let the proxy make another; or, if nobody has used it: chmod 600")
            }
            var bytes = [UInt8](repeating: 0, count: Self.maximumCount)
            var count = 0
            while count < bytes.count {
                let added = bytes.withUnsafeMutableBytes { systemRead(file, $0.baseAddress! + count, $0.count - count) }
                let number = errno
                if added < 0, number == EINTR { continue }
                guard added >= 0 else {
                    throw failure(
                        "cannot be read: \(Self.reason(number))", remedy: "Give another path with --key-file.")
                }
                guard added > 0 else { break }
                count += added
            }
            let text = String(decoding: bytes.prefix(count), as: UTF8.self).split(whereSeparator: \.isWhitespace)
            return text.count == 1 ? String(text[0]) : ""
        }

        /// Makes the file. Returns false if there is one already.
        ///
        /// It gets its name when its content is on disk, so that no other process, and none after a loss of power,
        /// reads a part. Before, it has none: if this process is killed, nothing is left. Where the file system has no
        /// files without names, as NFS and some overlays, it has a temporary one.
        private func make(_ text: String) throws(BLEError) -> Bool {
            let folder = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
            try? FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            let parent = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            guard parent >= 0 else { throw cannotBeMade(errno) }
            defer { close(parent) }
            var file = open(folder, O_WRONLY | Self.withoutName | O_CLOEXEC, 0o600)
            var temporary: String?
            defer { if let temporary { unlink(temporary) } }
            if file < 0, [EOPNOTSUPP, EISDIR, EINVAL].contains(errno) {
                let name = "\(path).\(getpid())"
                // What a process that was killed has left.
                unlink(name)
                file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
                if file >= 0 { temporary = name }
            }
            guard file >= 0 else { throw cannotBeMade(errno) }
            defer { close(file) }
            let bytes = Array("\(text)\n".utf8)
            let count = systemWrite(file, bytes, bytes.count)
            guard count == bytes.count else { throw cannotBeMade(count < 0 ? errno : ENOSPC) }
            guard fsync(file) == 0 else { throw cannotBeMade(errno) }
            let source = temporary ?? "/proc/self/fd/\(file)"
            guard linkat(AT_FDCWD, source, AT_FDCWD, path, temporary == nil ? AT_SYMLINK_FOLLOW : 0) == 0 else {
                let number = errno
                guard number == EEXIST else { throw cannotBeMade(number) }
                return false
            }
            // The name, too, is on disk.
            guard fsync(parent) == 0 else { throw cannotBeMade(errno) }
            return true
        }

        /// The system's `O_TMPFILE`, whose definition Swift does not import.
        private static let withoutName = 0o20_000_000 | O_DIRECTORY

        private func cannotBeMade(_ number: Int32) -> BLEError {
            failure("cannot be made: \(Self.reason(number))", remedy: "Give another path with --key-file.")
        }
    }

    private func systemRead(_ file: Int32, _ bytes: UnsafeMutableRawPointer?, _ count: Int) -> Int {
        read(file, bytes, count)
    }

    private func systemWrite(_ file: Int32, _ bytes: [UInt8], _ count: Int) -> Int { write(file, bytes, count) }
#endif
