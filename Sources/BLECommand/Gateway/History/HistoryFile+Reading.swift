#if Gateway
    import GRDB

    /// A value of a device over time, for a plot.
    struct HistoryPoints: Equatable, Sendable {
        /// The samples of an interval.
        struct Point: Equatable, Sendable {
            /// The time of its first sample, in seconds since 1970.
            let second: Int64
            let average: Double
            let minimum: Double
            let maximum: Double
        }

        var unit: String?
        var points: [Point] = []

        /// `{"points":[[1764201600,-18.5]],"unit":"°C"}`. A point of several values is
        /// `[second, average, minimum, maximum]`.
        var json: JSON {
            let points = points.map { point -> JSON in
                let extremes = point.minimum == point.maximum ? [] : [point.minimum, point.maximum]
                return .array([.int(Int(point.second))] + ([point.average] + extremes).map(JSON.double))
            }
            return .object(["points": .array(points), "unit": .optional(unit)])
        }
    }

    /// What is read from a file, also while a gateway writes it.
    ///
    /// Each transaction is short: the write-ahead log grows as long as one reads.
    extension HistoryFile {
        /// The samples to read. Nil for all.
        struct Selection: Equatable, Sendable {
            /// The device in topics, its entry, or its name.
            var device: String?
            /// The id of the field.
            var field: String?

            fileprivate static let condition = """
                (?1 IS NULL OR device.device = ?1 OR device.entry = ?1 OR device.name = ?1)
                AND (?2 IS NULL OR field.name = ?2)
                """
        }

        /// The maximum number of samples of a page.
        static let pageLimit = 10_000

        /// Whether there have been samples of a selection.
        func has(_ selection: Selection) async throws -> Bool {
            try await database.read { db in
                try Bool.fetchOne(
                    db,
                    sql: """
                        SELECT EXISTS (
                            SELECT 1 FROM field JOIN device ON device.id = field.device WHERE \(Selection.condition))
                        """, arguments: [selection.device, selection.field]) ?? false
            }
        }

        /// Returns samples from a position on, in the order of time, and the position of the next page. Nil for the
        /// last one.
        ///
        /// The first position is a time, ``position(of:)``.
        func page(from position: Int64, _ selection: Selection) async throws -> (samples: [Sample], next: Int64?) {
            try await database.read { db in
                // CROSS JOIN: in the order of the samples, without an index of their fields.
                let rows = try Row.fetchAll(
                    db,
                    sql: """
                        SELECT sample.id, sample.value, field.kind, field.name, field.unit, device.device, device.entry,
                            device.name
                        FROM sample CROSS JOIN field ON field.id = sample.id & \(1 << Self.fieldBits - 1)
                        CROSS JOIN device ON device.id = field.device
                        WHERE sample.id >= ?3 AND \(Selection.condition) ORDER BY sample.id LIMIT \(Self.pageLimit)
                        """, arguments: [selection.device, selection.field, position])
                let next = rows.count < Self.pageLimit ? nil : rows.last.map { ($0[0] as Int64) + 1 }
                return (rows.compactMap(Sample.init), next)
            }
        }

        /// Returns the position of the first sample at a time.
        static func position(of second: Int64) -> Int64 { max(second, 0) << fieldBits }

        /// Returns the numbers of a field in a time, as at most `limit` points, and one.
        ///
        /// If a field of that name has had several units, those of the latest one.
        func points(device: String, field: String, in time: ClosedRange<Int64>, limit: Int64) async throws
            -> HistoryPoints
        {
            try await database.read { db in
                let row = try Row.fetchOne(
                    db,
                    sql: """
                        SELECT field.id, field.unit FROM field JOIN device ON device.id = field.device
                        WHERE device.device = ? AND field.name = ? AND field.kind < 2
                        ORDER BY field.last DESC, field.id DESC LIMIT 1
                        """, arguments: [device, field])
                guard let row else { return HistoryPoints() }
                let (id, unit): (Int64, String) = (row[0], row[1])
                let width = max((time.upperBound - time.lowerBound + limit) / limit, 1)
                let rows = try Row.fetchAll(
                    db,
                    sql: """
                        SELECT min(id >> \(Self.fieldBits)), avg(value), min(value), max(value) FROM sample
                        WHERE id >= ? AND id < ? AND id & \(1 << Self.fieldBits - 1) = ?
                        GROUP BY (id >> \(Self.fieldBits)) / ? ORDER BY 1
                        """,
                    arguments: [Self.position(of: time.lowerBound), Self.position(of: time.upperBound + 1), id, width])
                return HistoryPoints(unit: unit.isEmpty ? nil : unit, points: rows.compactMap(HistoryPoints.Point.init))
            }
        }
    }

    extension Sample {
        /// Nil for a row that no gateway has written.
        fileprivate init?(_ row: Row) {
            guard let id = Int64.fromDatabaseValue(row[0]), let kind = Int64.fromDatabaseValue(row[2]),
                let value = DeviceField.Value(kind, row[1])
            else { return nil }
            let texts = (3...7).compactMap { String.fromDatabaseValue(row[$0]) }
            guard texts.count == 5 else { return nil }
            self.init(
                device: texts[2], entry: texts[3], name: texts[4], field: texts[0], value: value,
                unit: texts[1].isEmpty ? nil : texts[1], second: id >> HistoryFile.fieldBits)
        }
    }

    extension HistoryPoints.Point {
        fileprivate init?(_ row: Row) {
            let numbers = (1...3).compactMap { Double.fromDatabaseValue(row[$0]) }
            guard let second = Int64.fromDatabaseValue(row[0]), numbers.count == 3 else { return nil }
            self.init(second: second, average: numbers[0], minimum: numbers[1], maximum: numbers[2])
        }
    }
#endif
