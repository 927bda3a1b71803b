import BLE

#if Gateway
    import GRDB

    /// What a gateway does with a file. Each transaction is small: others that write wait for its end.
    extension HistoryFile {
        /// The size of a file, in its pages.
        private struct Size {
            /// The pages with content.
            let used: Int64
            let all: Int64
            let limit: Int64

            init(_ db: Database, _ megabytes: Int) throws {
                all = try db.pragma("page_count")
                used = all - (try db.pragma("freelist_count"))
                limit = Int64(megabytes) * 1_000_000 / (try db.pragma("page_size"))
            }

            func isFull(_ room: Int64) -> Bool { used > limit - room }
        }

        /// The maximum number of pages that a batch of samples takes: 64 KiB of text, and 250 samples of new devices
        /// with names of 400 bytes.
        private static let room: Int64 = 64
        /// The maximum number of samples that are deleted in a transaction.
        private static let sliceLimit = 10_000
        /// The maximum number of pages that are given back to the disk in a transaction.
        private static let vacuumLimit: Int64 = 256

        /// Writes samples, and deletes the oldest ones if there is no room. Returns the number of samples that were not
        /// written, because there are too many fields.
        ///
        /// Of several samples of a field at the same second, the last one stays.
        func write(_ samples: [Sample], megabytes: Int) async throws -> Int {
            try await database.write { db in
                try Self.makeRoom(db, megabytes)
                var refused = 0
                for sample in samples {
                    guard let field = try Self.field(of: sample, db) else {
                        refused += 1
                        continue
                    }
                    try db.cachedStatement(sql: "INSERT OR REPLACE INTO sample (id, value) VALUES (?, ?)")
                        .execute(arguments: [sample.second << Self.fieldBits | field, sample.value.stored])
                }
                return refused
            }
        }

        /// Deletes what is older than a time, at most ``sliceLimit`` samples, and what does not fit. Returns whether
        /// more is to be deleted.
        func tidy(before second: Int64, megabytes: Int) async throws -> Bool {
            try await database.write { db in
                let expired = try Self.delete(
                    db, "WHERE id < ? ORDER BY id LIMIT \(Self.sliceLimit)", [Self.position(of: second)])
                try Self.makeRoom(db, megabytes)
                // A field is used as long as it has samples.
                try db.execute(
                    sql: """
                        DELETE FROM field WHERE last + 3600 < ifnull(
                            (SELECT min(id) >> \(Self.fieldBits) FROM sample), 9223372036854775807);
                        DELETE FROM device WHERE id NOT IN (SELECT device FROM field);
                        """)
                let size = try Size(db, megabytes)
                let excess = size.all - size.limit
                if excess > 0 {
                    try db.execute(sql: "PRAGMA incremental_vacuum(\(min(excess, Self.vacuumLimit)))")
                }
                // SQLite does not make it smaller than the file.
                try db.execute(sql: "PRAGMA max_page_count = \(size.limit)")
                return expired == Self.sliceLimit || size.isFull(Self.room) || excess > Self.vacuumLimit
            }
        }

        /// Returns the times of the oldest and of the latest sample. Nil without samples.
        func span() async throws -> ClosedRange<Int64>? {
            try await database.read { db in
                let ids = try (Int64?).fetchAll(
                    db, sql: "SELECT min(id) FROM sample UNION ALL SELECT max(id) FROM sample"
                ).compactMap(\.self)
                guard ids.count == 2 else { return nil }
                return ids[0] >> Self.fieldBits...ids[1] >> Self.fieldBits
            }
        }

        /// Deletes the oldest samples until there is room for a batch.
        private static func makeRoom(_ db: Database, _ megabytes: Int) throws {
            guard try Size(db, megabytes).isFull(room) else { return }
            var deleted = 0
            // More than is needed now: it happens less often.
            while deleted < sliceLimit, try Size(db, megabytes).isFull(2 * room) {
                let count = try delete(db, "ORDER BY id LIMIT 100", [])
                guard count > 0 else { return }
                deleted += count
            }
        }

        /// Deletes the samples up to the last one of a selection, and returns their number.
        private static func delete(_ db: Database, _ selection: String, _ arguments: StatementArguments) throws -> Int {
            try db.cachedStatement(
                sql: "DELETE FROM sample WHERE id <= (SELECT max(id) FROM (SELECT id FROM sample \(selection)))"
            ).execute(arguments: arguments)
            return db.changesCount
        }

        // MARK: Devices and fields

        private static func device(of sample: Sample, _ db: Database) throws -> Int64 {
            let row = try Row.fetchOne(
                db.cachedStatement(sql: "SELECT id, entry, name FROM device WHERE device = ?"),
                arguments: [sample.device])
            guard let row else {
                try db.execute(
                    sql: "INSERT INTO device (device, entry, name) VALUES (?, ?, ?)",
                    arguments: [sample.device, sample.entry, sample.name])
                return db.lastInsertedRowID
            }
            let id: Int64 = row[0]
            if row[1] != sample.entry || row[2] != sample.name {
                try db.execute(
                    sql: "UPDATE device SET entry = ?, name = ? WHERE id = ?",
                    arguments: [sample.entry, sample.name, id])
            }
            return id
        }

        /// Returns the id of a field. Nil if there is none left.
        private static func field(of sample: Sample, _ db: Database) throws -> Int64? {
            let device = try device(of: sample, db)
            let (kind, unit) = (sample.value.kind, sample.unit ?? "")
            let row = try Row.fetchOne(
                db.cachedStatement(
                    sql: """
                        SELECT id, last, (SELECT max(last) FROM field WHERE device = ?1 AND name = ?2)
                        FROM field WHERE device = ?1 AND name = ?2 AND kind = ?3 AND unit = ?4
                        """),
                arguments: [device, sample.field, kind, unit])
            guard let row else {
                let id = try Int64.fetchOne(
                    db,
                    sql: """
                        SELECT min(id) + 1 FROM (SELECT 0 AS id UNION ALL SELECT id FROM field) AS used
                        WHERE NOT EXISTS (SELECT 1 FROM field WHERE id = used.id + 1)
                        """)
                guard let id, id <= fieldMask else { return nil }
                try db.execute(
                    sql: "INSERT INTO field (id, device, name, kind, unit, last) VALUES (?, ?, ?, ?, ?, ?)",
                    arguments: [id, device, sample.field, kind, unit, sample.second])
                return id
            }
            let (id, last, latest): (Int64, Int64, Int64) = (row[0], row[1], row[2])
            // Not with each sample: that would be another page to write. At once if it was another unit meanwhile.
            if sample.second >= last + 3600 || latest > last {
                try db.execute(
                    sql: "UPDATE field SET last = ? WHERE id = ?", arguments: [max(sample.second, latest + 1), id])
            }
            return id
        }
    }

    extension SensorReading.Value {
        /// The number in the table `field`.
        fileprivate var kind: Int64 {
            switch self {
            case .number: 0
            case .flag: 1
            case .text: 2
            }
        }

        /// The value in the table `sample`. An integer takes less room than a number with a fraction.
        fileprivate var stored: DatabaseValue {
            switch self {
            case .number(let number): Int64(exactly: number)?.databaseValue ?? number.databaseValue
            case .flag(let flag): (flag ? 1 : 0).databaseValue
            case .text(let text): text.databaseValue
            }
        }

        /// Creates the value of a row. Nil for one that no gateway has written.
        init?(_ kind: Int64, _ stored: DatabaseValue) {
            switch kind {
            case 0:
                guard let number = Double.fromDatabaseValue(stored) else { return nil }
                self = .number(number)
            case 1:
                guard let flag = Int64.fromDatabaseValue(stored) else { return nil }
                self = .flag(flag != 0)
            case 2:
                guard let text = String.fromDatabaseValue(stored) else { return nil }
                self = .text(text)
            default: return nil
            }
        }
    }
#endif
