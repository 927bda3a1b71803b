import BLE
import BLEDefinitions

#if Gateway
    import BLETestSupport
    import BLETesting
    import Foundation
    import GRDB
    import Testing

    @testable import BLECommand

    @Suite(.hangLimit)
    struct HistoryFileTests {
        private let folder: TestFolder
        private var path: String { folder.path("history.sqlite") }

        init() throws { folder = try TestFolder() }

        private static func sample(
            _ value: SensorReading.Value, at second: Int64, field: String = "temperature", unit: String? = "°C",
            device: String = "c47c8d000001", name: String = "Freezer"
        ) -> Sample {
            Sample(
                device: device, entry: "freezer", name: name, field: field, value: value, unit: unit, second: second)
        }

        private func read(_ selection: HistoryFile.Selection = HistoryFile.Selection(), from second: Int64 = 0)
            async throws -> [Sample]
        {
            let file = try await HistoryFile.open(path, for: .reading)
            var samples: [Sample] = []
            var position: Int64? = HistoryFile.position(of: second)
            while let next = position {
                let page = try await file.page(from: next, selection)
                (samples, position) = (samples + page.samples, page.next)
            }
            return samples
        }

        private func write(_ samples: [Sample]) async throws {
            let file = try await HistoryFile.open(path, for: .writing)
            #expect(try await file.write(samples, megabytes: 1) == 0)
            await file.close()
        }

        @Test func `numbers, flags and texts are read as they were written`() async throws {
            let values: [SensorReading.Value] = [
                .number(-18.5), .number(72), .number(0), .number(1e300), .number(-0.1), .flag(true), .flag(false),
                .text("0058"), .text(""), .text("Ünïcode 🔋 \"quoted\", \n"),
            ]
            let samples = values.enumerated().map { index, value in
                Self.sample(value, at: Int64(1000 + index), field: "f\(index)", unit: index == 1 ? "bpm" : nil)
            }
            try await write(samples)
            #expect(try await read() == samples)
        }

        @Test func `of several values of a field at a second, the last one stays`() async throws {
            try await write([1, 2, 3].map { Self.sample(.number($0), at: 1000) })
            #expect(try await read().map(\.value) == [.number(3)])
        }

        @Test func `a field that has another unit or kind is another one, and a device has its latest name`()
            async throws
        {
            try await write([
                Self.sample(.number(4), at: 1, name: "P"), Self.sample(.number(39), at: 2, unit: "°F"),
                Self.sample(.text("warm"), at: 3, unit: nil),
            ])
            let samples = try await read()
            #expect(samples.map(\.unit) == ["°C", "°F", nil])
            #expect(samples.map(\.name) == ["Freezer", "Freezer", "Freezer"])
        }

        @Test func `samples are selected by device, entry, name, field and time, in the order of time`() async throws {
            try await write([
                Self.sample(.number(1), at: 30), Self.sample(.number(2), at: 20, field: "rssi"),
                Self.sample(.number(3), at: 10, device: "c47c8d000002", name: "Attic"),
            ])
            #expect(try await read().map(\.second) == [10, 20, 30])
            #expect(try await read(from: 20).map(\.second) == [20, 30])
            #expect(try await read(.init(device: "Attic")).map(\.second) == [10])
            #expect(try await read(.init(device: "c47c8d000001")).map(\.second) == [20, 30])
            #expect(try await read(.init(device: "freezer", field: "temperature")).map(\.second) == [10, 30])
            let file = try await HistoryFile.open(path, for: .reading)
            #expect(try await file.has(.init(device: "Attic", field: "temperature")))
            #expect(try await !file.has(.init(device: "Attic", field: "rssi")))
        }

        @Test func `long histories are read page by page`() async throws {
            let file = try await HistoryFile.open(path, for: .writing)
            for start in stride(from: 0, to: 20_500, by: 500) {
                let batch = (start..<start + 500).map { Self.sample(.number(Double($0)), at: Int64($0)) }
                _ = try await file.write(batch, megabytes: 10)
            }
            let samples = try await read()
            #expect(samples.map(\.second) == Array(0..<20_500))
        }

        @Test func `a plot has few points, with the extremes of each`() async throws {
            let file = try await HistoryFile.open(path, for: .writing)
            let day: Int64 = 86_400
            for hour in 0..<Int64(24 * 7) {
                let batch = (0..<60).map { minute in
                    Self.sample(.number(minute == 30 && hour == 50 ? 99 : 4), at: hour * 3600 + Int64(minute) * 60)
                }
                _ = try await file.write(batch, megabytes: 10)
            }
            _ = try await file.write(
                [
                    Self.sample(.text("x"), at: 5, field: "text", unit: nil),
                    Self.sample(.flag(true), at: 6, field: "door", unit: nil),
                ],
                megabytes: 10)
            func points(_ field: String, _ time: ClosedRange<Int64>) async throws -> HistoryPoints {
                try await file.points(device: "c47c8d000001", field: field, in: time, limit: 1000)
            }
            let week = try await points("temperature", 0...7 * day - 1)
            #expect(week.unit == "°C")
            #expect((900...1001).contains(week.points.count))
            #expect(week.points.map(\.second) == week.points.map(\.second).sorted())
            #expect(week.points.count { $0.maximum == 99 && $0.minimum == 4 && (4.1..<99).contains($0.average) } == 1)
            let hour = try await points("temperature", 3600...7199)
            #expect(hour.points.map(\.second) == (0..<60).map { 3600 + 60 * $0 })
            #expect(try await points("door", 0...day).json.text == #"{"interval":87,"points":[[6,1]],"unit":null}"#)
            #expect(try await points("text", 0...day) == HistoryPoints())
            #expect(try await points("humidity", 0...day) == HistoryPoints())
        }

        @Test func `a plot among many other values has each of its own, however they are read`() async throws {
            let file = try await HistoryFile.open(path, for: .writing)
            for second in 0..<Int64(600) {
                let others = (0..<60).map { Self.sample(.number(1e6), at: second, field: "f\($0)") }
                _ = try await file.write([Self.sample(.number(Double(second)), at: second)] + others, megabytes: 10)
            }
            // 36,600 samples, which are read in four parts.
            let plot = try await file.points(device: "c47c8d000001", field: "temperature", in: 0...599, limit: 7)
            #expect(plot.interval == 86)
            let expected = stride(from: Int64(0), to: 600, by: 86).map { start -> HistoryPoints.Point in
                let end = min(start + 85, 599)
                return HistoryPoints.Point(
                    second: start, average: Double(start + end) / 2, minimum: Double(start), maximum: Double(end))
            }
            #expect(plot.points == expected)
            let selected = try await read(.init(field: "f7"))
            #expect(selected.map(\.second) == Array(0..<600))
        }

        @Test func `a history is read while it is written`() async throws {
            let file = try await HistoryFile.open(path, for: .writing)
            let hasEnded = SharedValue(false)
            let writing = Task {
                defer { hasEnded.change { $0 = true } }
                for second in 0..<Int64(300) {
                    let batch = (0..<250).map { Self.sample(.number(Double(second)), at: second, field: "f\($0)") }
                    _ = try await file.write(batch, megabytes: 1)
                    _ = try await file.tidy(before: 0, megabytes: 1)
                }
            }
            while !hasEnded.value {
                let samples = try await read(.init(field: "f50"))
                #expect(zip(samples, samples.dropFirst()).allSatisfy { $0.second + 1 == $1.second })
            }
            try await writing.value
            let samples = try await read(.init(field: "f50"))
            #expect(samples.last?.second == 299)
            #expect(samples.first?.second ?? 0 > 0, "nothing was deleted meanwhile")
        }

        @Test func `a plot has the unit of the latest value`() async throws {
            for (second, unit) in [(1, "°C"), (2, "°F"), (3, "°C"), (4, "°F"), (5, "°C")] {
                try await write([Self.sample(.number(4), at: Int64(second), unit: unit)])
                let file = try await HistoryFile.open(path, for: .reading)
                let plot = try await file.points(device: "c47c8d000001", field: "temperature", in: 0...10, limit: 1000)
                #expect(plot.unit == unit)
                #expect(plot.points.last?.second == Int64(second))
            }
        }

        @Test func `the ids of fields that are gone are used again`() async throws {
            let file = try await HistoryFile.open(path, for: .writing)
            _ = try await file.write([Self.sample(.number(1), at: 10, field: "old")], megabytes: 1)
            _ = try await file.write([Self.sample(.number(1), at: 90_000, field: "kept")], megabytes: 1)
            _ = try await file.tidy(before: 80_000, megabytes: 1)
            _ = try await file.write([Self.sample(.number(1), at: 90_001, field: "new")], megabytes: 1)
            let ids = try await file.database.read { try Int64.fetchAll($0, sql: "SELECT id FROM field ORDER BY id") }
            #expect(ids == [1, 2])
            #expect(try await read().map(\.field) == ["kept", "new"])
        }

        @Test func `the size stays below its limit, and the oldest samples are deleted`() async throws {
            let file = try await HistoryFile.open(path, for: .writing)
            let text = String(repeating: "x", count: 200)
            for start in stride(from: Int64(0), to: 20_000, by: 250) {
                let batch = (start..<start + 250).map { Self.sample(.text("\($0)\(text)"), at: $0, unit: nil) }
                _ = try await file.write(batch, megabytes: 1)
                _ = try await file.tidy(before: 0, megabytes: 1)
            }
            await file.close()
            #expect(try folder.size("history.sqlite") <= 1_000_000)
            let seconds = try await read().map(\.second)
            #expect(seconds.last == 19_999)
            // Most of the room is used, and there is no gap.
            #expect(seconds.count > 1500)
            #expect(seconds == Array(try #require(seconds.first)...19_999))
        }

        @Test func `there is room for a batch of new devices with long names in a full file`() async throws {
            let file = try await HistoryFile.open(path, for: .writing)
            let name = String(repeating: "ü", count: 100)
            for round in 0..<10 {
                _ = try await file.tidy(before: 0, megabytes: 1)
                let batch = (0..<SampleQueue.batchLimit).map { number in
                    Self.sample(
                        .text(String(repeating: "x", count: 250)), at: Int64(round * 10_000), unit: nil,
                        device: "c47c8d\(round * 1000 + number)", name: "\(name)\(round)")
                }
                _ = try await file.write(batch, megabytes: 1)
            }
            await file.close()
            #expect(try folder.size("history.sqlite") <= 1_000_000)
            #expect(try await read().last?.second == 90_000)
        }

        @Test func `a lower limit makes the file smaller`() async throws {
            let file = try await HistoryFile.open(path, for: .writing)
            for start in stride(from: Int64(0), to: 150_000, by: 1000) {
                let batch = (start..<start + 1000).map { Self.sample(.number(Double($0) + 0.5), at: $0) }
                _ = try await file.write(batch, megabytes: 10)
            }
            while try await file.tidy(before: 0, megabytes: 1) {}
            await file.close()
            #expect(try folder.size("history.sqlite") <= 1_000_000)
            #expect(try await read().last?.second == 149_999)
        }

        @Test func `what is too old is deleted in slices, with the devices that have nothing else`() async throws {
            let file = try await HistoryFile.open(path, for: .writing)
            for start in stride(from: Int64(0), to: 25_000, by: 1000) {
                _ = try await file.write(
                    (start..<start + 1000).map { Self.sample(.number(1), at: $0, device: "old") }, megabytes: 10)
            }
            _ = try await file.write([Self.sample(.number(2), at: 30_000)], megabytes: 10)
            var slices = 1
            while try await file.tidy(before: 29_000, megabytes: 10) { slices += 1 }
            #expect(slices == 3)
            #expect(try await read().map(\.second) == [30_000])
            let devices = try await file.database.read { try String.fetchAll($0, sql: "SELECT device FROM device") }
            #expect(devices == ["c47c8d000001"])
        }

        @Test func `a sample has less than 20 bytes`() async throws {
            let file = try await HistoryFile.open(path, for: .writing)
            // 20 devices, some values with fractions, some without.
            for start in stride(from: Int64(0), to: 50_000, by: 500) {
                let batch = (start..<start + 500).map { second in
                    Self.sample(
                        .number(second % 2 == 0 ? Double(second) / 7 : Double(second % 100)), at: second,
                        field: second % 2 == 0 ? "temperature" : "rssi", device: "c47c8d0000\(10 + second % 20)")
                }
                _ = try await file.write(batch, megabytes: 10)
            }
            await file.close()
            let bytes = Double(try folder.size("history.sqlite")) / 50_000
            #expect((15..<20).contains(bytes), "\(bytes)")
        }

        @Test func `people read the view`() async throws {
            try await write([Self.sample(.number(-18.5), at: 1_764_201_600)])
            let file = try await HistoryFile.open(path, for: .reading)
            let row = try await file.database.read { try Row.fetchOne($0, sql: "SELECT * FROM history")?.description }
            #expect(
                row == """
                    [time:"2025-11-27T00:00:00Z" device:"c47c8d000001" entry:"freezer" name:"Freezer" \
                    field:"temperature" value:-18.5 unit:"°C"]
                    """)
        }

        // MARK: Files that are not used

        private func expectRefusal(_ reason: String, sourceLocation: SourceLocation = #_sourceLocation) async {
            for access in [HistoryFile.Access.reading, .writing] {
                do {
                    _ = try await HistoryFile.open(path, for: access)
                    Issue.record("opened", sourceLocation: sourceLocation)
                } catch {
                    #expect(HistoryFile.reason(error) == reason, sourceLocation: sourceLocation)
                }
            }
        }

        @Test func `a file that is not a database stays as it is`() async throws {
            let content = Data(String(repeating: "precious\n", count: 1000).utf8)
            try content.write(to: URL(filePath: path))
            await expectRefusal("is not a database")
            #expect(try Data(contentsOf: URL(filePath: path)) == content)
        }

        @Test func `the database of another program stays as it is`() async throws {
            let other = try DatabaseQueue(path: path)
            try await other.write { try $0.execute(sql: "CREATE TABLE sample (id INTEGER PRIMARY KEY)") }
            try other.close()
            let content = try Data(contentsOf: URL(filePath: path))
            await expectRefusal("is the database of another program")
            #expect(try Data(contentsOf: URL(filePath: path)) == content)
        }

        @Test func `an empty file is refused to a reader, and becomes a history for a writer`() async throws {
            try Data().write(to: URL(filePath: path))
            #expect(try await HistoryFile.mistake(in: path) == nil)
            await #expect(throws: HistoryFile.Refusal.self) { try await HistoryFile.open(path, for: .reading) }
            try await write([Self.sample(.number(1), at: 1)])
            #expect(try await read().count == 1)
        }

        @Test func `a file of a later version stays as it is`() async throws {
            try await write([])
            let later = try DatabaseQueue(path: path)
            try await later.write { try $0.execute(sql: "PRAGMA user_version = 2") }
            try later.close()
            let content = try Data(contentsOf: URL(filePath: path))
            await expectRefusal("was written by a later version of ble (format 2)")
            #expect(try Data(contentsOf: URL(filePath: path)) == content)
        }

        @Test func `a folder, and a file in no folder, cannot be opened`() async throws {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            #expect(try await HistoryFile.mistake(in: path)?.hasPrefix("\(path) cannot be ") == true)
            #expect(try await HistoryFile.mistake(in: path + "-none/x.sqlite") == "\(path)-none does not exist")
            #expect(try await HistoryFile.mistake(in: folder.path("new.sqlite")) == nil)
        }
    }

    /// A folder that ends with its test.
    final class TestFolder: Sendable {
        private let url: URL

        init() throws {
            url = FileManager.default.temporaryDirectory.appending(path: "history-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        }

        deinit { try? FileManager.default.removeItem(at: url) }

        func path(_ name: String) -> String { url.appending(path: name).path }

        func size(_ name: String) throws -> Int {
            try #require(FileManager.default.attributesOfItem(atPath: path(name))[.size] as? Int)
        }
    }
#endif
