import BLE

#if Gateway
    import Dispatch
    import FoundationEssentials
    import GRDB

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    /// The file of a history, an SQLite database; see Docs/Decisions/0015-gateway.md.
    ///
    /// Only SQLite opens it: a process that closes a file loses all its locks on it.
    struct HistoryFile: Sendable {
        /// Says that a database is a history: `bleh`.
        static let applicationID: Int64 = 0x626C_6568
        /// The version of the tables.
        static let version: Int64 = 1
        /// The id of a sample is its time, and in the lowest bits the id of its field.
        static let fieldBits: Int64 = 16
        /// The bits of the field's id in that of a sample.
        static let fieldMask: Int64 = (1 << fieldBits) - 1

        /// The reason why a database is not used.
        enum Refusal: Error, CustomStringConvertible {
            case isEmpty
            case isOther
            case isNewer(Int64)

            var description: String {
                switch self {
                case .isEmpty: "has nothing in it"
                case .isOther: "is the database of another program"
                case .isNewer(let version): "was written by a later version of ble (format \(version))"
                }
            }
        }

        enum Access { case reading, writing }

        let path: String
        let database: DatabaseQueue
        /// Tells the file from another one that has taken its place.
        private let identity: Identity?

        private struct Identity: Equatable, Sendable {
            let device: UInt64
            let number: UInt64

            /// Nil if there is no file.
            init?(_ path: String) {
                var status = stat()
                guard stat(path, &status) == 0 else { return nil }
                (device, number) = (UInt64(status.st_dev), UInt64(status.st_ino))
            }
        }

        /// Opens a file. For writing, a file that does not exist or is empty becomes a history.
        ///
        /// A file that is not a history stays as it is.
        static func open(_ path: String, for access: Access) async throws -> HistoryFile {
            // A database that another program has locked is waited for.
            try await onOwnThread { try HistoryFile(path, access) }
        }

        private init(_ path: String, _ access: Access) throws {
            // SQLite takes some relative paths for others than files, such as `:memory:`.
            let path = URL(filePath: path).path
            var configuration = Configuration()
            configuration.readonly = access == .reading
            configuration.busyMode = .timeout(access == .reading ? 5 : 2)
            self.path = path
            database = try DatabaseQueue(path: path, configuration: configuration)
            try database.writeWithoutTransaction { try Self.prepare($0, access) }
            identity = Identity(path)
        }

        /// Whether the path still leads to this file.
        var isInPlace: Bool { Identity(path) == identity }

        /// Moves what is in the write-ahead log to the file.
        func close() async {
            let database = database
            try? await Self.onOwnThread {
                // SQLite itself does not do so for a file that was moved. What fails here is done when the file is next
                // opened.
                if !database.configuration.readonly {
                    _ = try? database.writeWithoutTransaction { try $0.checkpoint(.truncate) }
                }
                try database.close()
            }
        }

        private static func onOwnThread<Value: Sendable>(
            _ body: @escaping @Sendable () throws -> Value
        ) async throws -> Value {
            try await withCheckedThrowingContinuation { continuation in
                DispatchQueue.global().async { continuation.resume(with: Result { try body() }) }
            }
        }

        // MARK: The tables

        private static func prepare(_ db: Database, _ access: Access) throws {
            // The tables are read, but no code that a foreign file has in its views.
            try db.execute(sql: "PRAGMA trusted_schema = OFF")
            let isHistory = try db.pragma("application_id") == applicationID
            if isHistory {
                let version = try db.pragma("user_version")
                guard version <= Self.version else { throw Refusal.isNewer(version) }
            } else {
                let isEmpty = try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master") == 0
                guard try isEmpty && db.pragma("application_id") == 0 else { throw Refusal.isOther }
                guard access == .writing else { throw Refusal.isEmpty }
            }
            guard access == .writing else { return }
            // Has an effect on an empty database only.
            try db.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL")
            try db.execute(sql: "PRAGMA journal_mode = WAL")
            // A transaction is on the disk when it ends.
            try db.execute(sql: "PRAGMA synchronous = FULL")
            try db.execute(sql: "PRAGMA journal_size_limit = 4194304")
            guard !isHistory else { return }
            try db.inTransaction {
                // Another gateway may have been faster.
                if try db.pragma("application_id") != applicationID { try db.execute(sql: schema) }
                return .commit
            }
        }

        private static let schema = """
            PRAGMA application_id = \(applicationID);
            PRAGMA user_version = \(version);
            CREATE TABLE device (
                id INTEGER PRIMARY KEY, device TEXT NOT NULL UNIQUE, entry TEXT NOT NULL, name TEXT NOT NULL
            ) STRICT;
            -- kind: 0 a number, 1 a flag, 2 a text. last: the time of its latest sample, or up to an hour before.
            CREATE TABLE field (
                id INTEGER PRIMARY KEY, device INTEGER NOT NULL REFERENCES device, name TEXT NOT NULL,
                kind INTEGER NOT NULL, unit TEXT NOT NULL, last INTEGER NOT NULL, UNIQUE (device, name, kind, unit)
            ) STRICT;
            -- id: the seconds since 1970, times \(1 << fieldBits), plus the id of the field.
            CREATE TABLE sample (id INTEGER PRIMARY KEY, value ANY NOT NULL) STRICT;
            CREATE VIEW history AS
                SELECT strftime('%Y-%m-%dT%H:%M:%SZ', sample.id >> \(fieldBits), 'unixepoch') AS time, device.device,
                    device.entry, device.name, field.name AS field, sample.value, field.unit
                FROM sample CROSS JOIN field ON field.id = sample.id & \(fieldMask)
                CROSS JOIN device ON device.id = field.device;
            """
    }

    extension Database {
        /// Returns the number that a pragma has.
        func pragma(_ name: String) throws -> Int64 { try Int64.fetchOne(self, sql: "PRAGMA \(name)") ?? 0 }
    }

    extension HistoryFile {
        /// Returns what is wrong with a path. Nil for a history, an empty file, and no file in a folder that exists.
        static func mistake(in path: String) async throws -> String? {
            let folder = URL(filePath: path).deletingLastPathComponent().path
            guard FileManager.default.fileExists(atPath: folder) else { return "\(folder.harmless) does not exist" }
            guard FileManager.default.fileExists(atPath: path) else {
                return access(folder, W_OK | X_OK) == 0 ? nil : "\(folder.harmless) cannot be written"
            }
            guard access(path, W_OK) == 0 else { return "\(path.harmless) cannot be written" }
            do {
                try await open(path, for: .reading).close()
                return nil
            } catch Refusal.isEmpty {
                return nil
            } catch {
                return "\(path.harmless) \(reason(error))"
            }
        }

        /// Returns why a file cannot be used, to follow its name.
        static func reason(_ error: any Error) -> String {
            if let refusal = error as? Refusal { return refusal.description }
            // What others say of a row has SQL in it.
            guard let error = error as? DatabaseError else { return "cannot be read or written" }
            return switch error.resultCode {
            case .SQLITE_FULL: "cannot be written: the disk is full, or it would have more than its megabytes"
            case .SQLITE_READONLY: "cannot be written: it is read-only"
            case .SQLITE_CANTOPEN: "cannot be opened or created"
            case .SQLITE_NOTADB: "is not a database"
            case .SQLITE_CORRUPT: "is damaged"
            case .SQLITE_BUSY, .SQLITE_LOCKED: "is locked by another program"
            default: "cannot be read or written: \(error.message ?? "\(error.resultCode)")"
            }
        }
    }
#endif
