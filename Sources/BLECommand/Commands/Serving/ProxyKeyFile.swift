import BLE

#if DeviceCommands
    import BLEESPHome
    import FoundationEssentials

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    /// The file that has the key of a proxy, which only its owner may read.
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

        /// The maximum length of the file, in bytes. A key has 44 characters.
        private static let maximumCount = 256

        /// Returns the key, and whether it was made now because there was no file.
        ///
        /// Throws `unauthorized` for a file that others may read or change, and `failed` if it cannot be read or made,
        /// or has no key.
        func readOrMake() throws(BLEError) -> (key: EncryptionKey, isNew: Bool) {
            if let key = try read() { return (key, false) }
            let key = EncryptionKey.random()
            if try make(key) { return (key, true) }
            // Another process has made it meanwhile.
            guard let key = try read() else { throw failure("has been removed", remedy: "Start the proxy again.") }
            return (key, false)
        }

        private func failure(_ what: String, code: BLEError.Code = .failed, remedy: String) -> BLEError {
            BLEError(code, "the key file “\(path)” \(what)", isRetryable: false, remedy: remedy)
        }

        private static var reason: String { String(cString: strerror(errno)) }

        /// Returns nil if there is no file.
        private func read() throws(BLEError) -> EncryptionKey? {
            // A link is not followed, because another user could change where it leads, and a pipe is not waited for.
            let file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
            guard file >= 0 else {
                if errno == ENOENT { return nil }
                throw failure("cannot be read: \(Self.reason)", remedy: "Give a regular file of this user.")
            }
            defer { close(file) }
            var facts = stat()
            guard fstat(file, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else {
                throw failure("is not a regular file", remedy: "Give another path with --key-file.")
            }
            guard facts.st_uid == geteuid() || facts.st_uid == 0 else {
                throw failure("belongs to another user", code: .unauthorized, remedy: "Give a file of this user.")
            }
            guard facts.st_mode & 0o077 == 0 else {
                throw failure(
                    "can be read or written by others", code: .unauthorized,
                    remedy: "Remove it, and let the proxy make another key; or, if nobody has read it: chmod 600")
            }
            var bytes = [UInt8](repeating: 0, count: Self.maximumCount)
            var count = 0
            while count < bytes.count {
                let added = bytes.withUnsafeMutableBytes {
                    Glibc.read(file, $0.baseAddress! + count, $0.count - count)
                }
                if added < 0, errno == EINTR { continue }
                guard added > 0 else { break }
                count += added
            }
            let text = String(decoding: bytes.prefix(count), as: UTF8.self).split(whereSeparator: \.isWhitespace)
            guard text.count == 1, let key = EncryptionKey(String(text[0])) else {
                throw failure(
                    "has no key: Base64 of 32 bytes", remedy: "Remove it, and the proxy makes a key.")
            }
            return key
        }

        /// Makes the file. Returns false if there is one already.
        ///
        /// It gets its name when its content is on disk, so that no other process, and none after a loss of power,
        /// reads a part.
        private func make(_ key: EncryptionKey) throws(BLEError) -> Bool {
            let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
            if !folder.isEmpty {
                try? FileManager.default.createDirectory(
                    atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            }
            var name = Array("\(path).XXXXXX".utf8CString)
            // A file that did not exist, with mode 0600.
            let file = mkstemp(&name)
            guard file >= 0 else { throw cannotBeMade }
            defer { unlink(name) }
            _ = fcntl(file, F_SETFD, FD_CLOEXEC)
            let bytes = Array("\(key.text)\n".utf8)
            let isWritten = Glibc.write(file, bytes, bytes.count) == bytes.count && fsync(file) == 0
            let error = cannotBeMade
            close(file)
            guard isWritten else { throw error }
            if link(name, path) == 0 { return true }
            guard errno == EEXIST else { throw cannotBeMade }
            return false
        }

        private var cannotBeMade: BLEError {
            failure("cannot be made: \(Self.reason)", remedy: "Give another path with --key-file.")
        }
    }
#endif
