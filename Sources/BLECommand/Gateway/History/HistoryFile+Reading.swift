import BLE
import BLEDefinitions

#if Gateway
    import BLE
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
        /// The length of each point's interval, in seconds.
        var interval: Int64 = 1
        var points: [Point] = []

        /// `{"interval":4,"points":[[1764201600,-18.5]],"unit":"°C"}`. A point of several values is
        /// `[second, average, minimum, maximum]`.
        var json: JSON {
            let points = points.map { point -> JSON in
                let extremes = point.minimum == point.maximum ? [] : [point.minimum, point.maximum]
                return .array([.int(Int(point.second))] + ([point.average] + extremes).map(JSON.double))
            }
            return .object([
                "interval": .int(Int(interval)), "points": .array(points), "unit": .optional(unit),
            ])
        }
    }

    /// What is read from a file, also while a gateway writes it.
    ///
    /// Each transaction is short, whatever is selected: the write-ahead log grows as long as one reads.
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

        /// The number of samples that are looked at in a transaction.
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

        /// Returns the selected ones of ``pageLimit`` samples from a position on, in the order of time, and the
        /// position of the next page. Nil for the last one.
        ///
        /// The first position is a time, ``position(of:)``.
        func page(from position: Int64, _ selection: Selection) async throws -> (samples: [Sample], next: Int64?) {
            try await database.read { db in
                let next = try Self.end(of: position, db)
                // CROSS JOIN: in the order of the samples, without an index of their fields.
                let rows = try Row.fetchAll(
                    db,
                    sql: """
                        SELECT sample.id, sample.value, field.kind, field.name, field.unit, device.device, device.entry,
                            device.name
                        FROM sample CROSS JOIN field ON field.id = sample.id & \(Self.fieldMask)
                        CROSS JOIN device ON device.id = field.device
                        WHERE sample.id >= ?3 AND sample.id < ?4 AND \(Selection.condition) ORDER BY sample.id
                        """, arguments: [selection.device, selection.field, position, next ?? .max])
                return (rows.compactMap(Sample.init), next)
            }
        }

        /// Returns the position after ``pageLimit`` samples. Nil if there are fewer.
        private static func end(of position: Int64, _ db: Database) throws -> Int64? {
            try Int64.fetchOne(
                db, sql: "SELECT id FROM sample WHERE id >= ? ORDER BY id LIMIT 1 OFFSET \(pageLimit)",
                arguments: [position])
        }

        /// Returns the position of the first sample at a time.
        static func position(of second: Int64) -> Int64 { max(second, 0) << fieldBits }

        /// Returns the numbers of a field in a time, as at most `limit` points, and one.
        ///
        /// If a field of that name has had several units, those of the latest one.
        ///
        /// - Parameter deadline: when reading gives up. Throws `timedOut` then.
        func points(
            device: String, field: String, in time: ClosedRange<Int64>, limit: Int64,
            deadline: ContinuousClock.Instant? = nil
        ) async throws -> HistoryPoints {
            guard let field = try await fieldOfPlot(device: device, field: field) else { return HistoryPoints() }
            let width = max((time.upperBound - time.lowerBound + limit) / limit, 1)
            var points: [HistoryPoints.Interval] = []
            var position: Int64? = Self.position(of: time.lowerBound)
            let end = Self.position(of: time.upperBound + 1)
            while let start = position, start < end {
                try Task.checkCancellation()
                if let deadline, deadline < .now {
                    throw BLEError(.timedOut, "the history of so many hours takes too long to read")
                }
                let page = try await intervals(of: field.id, in: start..<end, width: width)
                for interval in page.intervals {
                    // A page may end within an interval.
                    if points.last?.number == interval.number {
                        points[points.count - 1].add(interval)
                    } else {
                        points.append(interval)
                    }
                }
                position = page.next
            }
            return HistoryPoints(unit: field.unit, interval: width, points: points.map(\.point))
        }

        private func fieldOfPlot(device: String, field: String) async throws -> (id: Int64, unit: String?)? {
            try await database.read { db in
                let row = try Row.fetchOne(
                    db,
                    sql: """
                        SELECT field.id, field.unit FROM field JOIN device ON device.id = field.device
                        WHERE device.device = ? AND field.name = ? AND field.kind < 2
                        ORDER BY field.last DESC, field.id DESC LIMIT 1
                        """, arguments: [device, field])
                guard let row else { return nil }
                let (id, unit): (Int64, String) = (row[0], row[1])
                return (id, unit.isEmpty ? nil : unit)
            }
        }

        /// Returns the intervals of a field among ``pageLimit`` samples of a range.
        private func intervals(of field: Int64, in range: Range<Int64>, width: Int64) async throws
            -> (intervals: [HistoryPoints.Interval], next: Int64?)
        {
            try await database.read { db in
                let next = try Self.end(of: range.lowerBound, db)
                let rows = try Row.fetchAll(
                    db,
                    sql: """
                        SELECT (id >> \(Self.fieldBits)) / ?4, min(id >> \(Self.fieldBits)), count(*), total(value),
                            min(value), max(value)
                        FROM sample WHERE id >= ?1 AND id < ?2 AND id & \(Self.fieldMask) = ?3 GROUP BY 1 ORDER BY 1
                        """,
                    arguments: [range.lowerBound, min(next ?? .max, range.upperBound), field, width])
                return (rows.compactMap(HistoryPoints.Interval.init), next)
            }
        }
    }

    extension Sample {
        /// Nil for a row that no gateway has written.
        fileprivate init?(_ row: Row) {
            guard let id = Int64.fromDatabaseValue(row[0]), let kind = Int64.fromDatabaseValue(row[2]),
                let value = SensorReading.Value(kind, row[1])
            else { return nil }
            let texts = (3...7).compactMap { String.fromDatabaseValue(row[$0]) }
            guard texts.count == 5 else { return nil }
            self.init(
                device: texts[2], entry: texts[3], name: texts[4], field: texts[0], value: value,
                unit: texts[1].isEmpty ? nil : texts[1], second: id >> HistoryFile.fieldBits)
        }
    }

    extension HistoryPoints {
        /// The samples of a point as far as they were read.
        fileprivate struct Interval {
            let number: Int64
            let second: Int64
            var count: Int64
            var total: Double
            var minimum: Double
            var maximum: Double

            /// Nil for a row that no gateway has written.
            init?(_ row: Row) {
                let integers = (0...2).compactMap { Int64.fromDatabaseValue(row[$0]) }
                let numbers = (3...5).compactMap { Double.fromDatabaseValue(row[$0]) }
                guard integers.count == 3, numbers.count == 3 else { return nil }
                (number, second, count) = (integers[0], integers[1], integers[2])
                (total, minimum, maximum) = (numbers[0], numbers[1], numbers[2])
            }

            mutating func add(_ later: Interval) {
                count += later.count
                total += later.total
                minimum = min(minimum, later.minimum)
                maximum = max(maximum, later.maximum)
            }

            var point: Point {
                Point(second: second, average: total / Double(count), minimum: minimum, maximum: maximum)
            }
        }
    }
#endif
