import BLE

#if Gateway
    import BLE
    import BLERecording
    import BLESimulation
    import BLETestSupport
    import BLETesting
    import Foundation
    import GRDB
    import Testing

    @testable import BLECommand

    /// A history in virtual time, on files of SQLite.
    @Suite(.hangLimit)
    struct HistoryTests {
        private let folder: TestFolder
        private let now = SharedValue<Int64>(1_764_201_600)
        private let notes = SharedValue<[String]>([])
        private var path: String { folder.path("history.sqlite") }

        init() throws { folder = try TestFolder() }

        private func history(_ path: String? = nil, days: Int = 30, megabytes: Int = 1) -> History {
            History(
                GatewayConfiguration.History(file: path ?? self.path, days: days, megabytes: megabytes),
                now: { [now] in Date(timeIntervalSince1970: Double(now.value)) }
            ) { [notes] note in notes.change { $0.append(note) } }
        }

        private func state(_ celsius: Double, device: String = "c47c8d000001") -> DeviceState {
            let field = SensorReading(name: "temperature", value: .number(celsius), unit: "°C")
            return DeviceState(
                device: device, entry: "freezer", name: "Freezer", fields: ["temperature": field], rssi: nil)
        }

        private func samples(_ name: String = "history.sqlite") async throws -> [Sample] {
            let file = try await HistoryFile.open(folder.path(name), for: .reading)
            var samples: [Sample] = []
            var position: Int64? = 0
            while let next = position {
                let page = try await file.page(from: next, HistoryFile.Selection())
                (samples, position) = (samples + page.samples, page.next)
            }
            return samples
        }

        @Test func `what was taken is in the file a second later, and at the end`() async throws {
            let clock = ManualClock()
            let history = history()
            let run = Task { await history.run(clock) }
            for celsius in 1...5 {
                await clock.sleepers(for: .seconds(1))
                history.take(state(Double(celsius)))
                now.change { $0 += 1 }
                clock.advance(by: .seconds(1))
                // The next sleep begins once everything is written.
                await clock.sleepers(for: .seconds(1))
                #expect(try await samples().map(\.value) == (1...celsius).map { .number(Double($0)) })
            }
            history.take(state(6))
            run.cancel()
            await run.value
            // The write-ahead log is in the file.
            #expect(!FileManager.default.fileExists(atPath: path + "-wal"))
            #expect(try await samples().last?.value == .number(6))
            #expect(notes.value == [])
        }

        @Test func `a week stays within size and age, and the newest values are all there`() async throws {
            let history = history(days: 5)
            let devices = (0..<20).map { "c47c8d0000\(10 + $0)" }
            let start = now.value
            for step in 0..<(7 * 24) {
                for minute in 0..<60 {
                    now.change { $0 = start + Int64(step) * 3600 + Int64(minute) * 60 }
                    for (index, device) in devices.enumerated() {
                        history.take(state(Double(step * 60 + minute) / 7 + Double(index), device: device))
                    }
                }
                await history.write(at: .seconds(3600 * step))
                #expect(try folder.size("history.sqlite") <= 1_000_000)
            }
            let samples = try await samples()
            // 20 samples a minute, in 1 MB.
            #expect((25_000..<60_000).contains(samples.count), "\(samples.count)")
            #expect(samples.last?.second == now.value)
            let minutes = Set(samples.map(\.second)).sorted()
            #expect(zip(minutes, minutes.dropFirst()).allSatisfy { $0 + 60 == $1 })
            #expect(notes.value == [])
            let points = try await history.points(device: devices[3], field: "temperature", hours: 24 * 7)
            #expect((100...1001).contains(points.points.count))
        }

        @Test func `what is older than the days is deleted`() async throws {
            let history = history(days: 1)
            let start = now.value
            // Ten minutes in a minute, as fast as samples are deleted.
            for step in 0..<432 {
                now.change { $0 = start + Int64(step) * 600 }
                history.take(state(Double(step)))
                await history.write(at: .seconds(60 * step))
            }
            #expect(try await samples().map(\.value) == (287...431).map { .number(Double($0)) })
        }

        @Test func `a clock that is a year ahead for an hour costs ten hours, and people are told`() async throws {
            let history = history(days: 1, megabytes: 10)
            let start = now.value
            // An hour of samples for each hour, in the order of time.
            for minute in 0..<(20 * 60) {
                now.change { $0 = start + Int64(minute) * 60 }
                history.take(state(Double(minute)))
                await history.write(at: .seconds(60 * minute))
            }
            for minute in (20 * 60)..<(21 * 60) {
                now.change { $0 = start + Int64(minute) * 60 + 365 * 86_400 }
                history.take(state(Double(minute)))
                await history.write(at: .seconds(60 * minute))
            }
            for minute in (21 * 60)..<(22 * 60) {
                now.change { $0 = start + Int64(minute) * 60 }
                history.take(state(Double(minute)))
                await history.write(at: .seconds(60 * minute))
            }
            let seconds = try await samples().map(\.second)
            #expect(seconds.first == start + 600 * 60)
            #expect(seconds.count == 720)
            #expect(notes.value.count == 1)
            #expect(
                notes.value.first?.hasSuffix(
                    "has values of 2026-11-27T20:59:00.000Z, which is in the future; check the clock")
                    == true, "\(notes.value)")
        }

        @Test func `what could not be written by the end is counted`() async throws {
            let file = folder.path("none/history.sqlite")
            let history = history(file)
            for celsius in 1...3 {
                now.change { $0 += 1 }
                history.take(state(Double(celsius)))
            }
            await history.runToEnd()
            #expect(
                notes.value == [
                    "\(file) cannot be opened or created; trying again", "\(file): 3 values could not be recorded",
                ])
        }

        @Test func `many plots at once are read or refused as busy, and afterwards there is room`() async throws {
            let history = history(megabytes: 10)
            for second in 0..<5000 {
                now.change { $0 += 1 }
                history.take(state(Double(second)))
            }
            await history.runToEnd()
            // Readers of a file without a write-ahead log wait for one that writes.
            var configuration = Configuration()
            configuration.allowsUnsafeTransactions = true
            let other = try DatabaseQueue(path: path, configuration: configuration)
            try await other.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA journal_mode = DELETE")
                try db.execute(sql: "BEGIN EXCLUSIVE; CREATE TABLE x (y)")
            }
            let held = (0..<2).map { _ in
                Task {
                    while !Task.isCancelled {
                        _ = try? await history.points(device: "c47c8d000001", field: "temperature", hours: 1)
                        // A refusal comes at once, and others need the thread.
                        try? await ContinuousClock().sleep(for: .milliseconds(10))
                    }
                }
            }
            var codes: Set<BLEError.Code> = []
            while !codes.contains(.busy) {
                do throws(BLEError) {
                    _ = try await history.points(device: "c47c8d000001", field: "temperature", hours: 1)
                } catch { codes.insert(error.code) }
                try await ContinuousClock().sleep(for: .milliseconds(10))
            }
            try await other.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
            for task in held { task.cancel() }
            for task in held { await task.value }
            let ends = await withTaskGroup(of: BLEError?.self, returning: [BLEError?].self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        do throws(BLEError) {
                            let plot = try await history.points(
                                device: "c47c8d000001", field: "temperature", hours: 1_000_000)
                            return plot.points.isEmpty ? BLEError(.failed, "empty") : nil
                        } catch { return error }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(Set(ends.compactMap { $0?.code }).subtracting([.busy]) == [])
            #expect(ends.contains { $0 == nil })
            let plot = try await history.points(device: "c47c8d000001", field: "temperature", hours: 1)
            #expect(plot.interval == 4 && plot.points.count > 800)
        }

        @Test func `without its folder, a file is tried again, told of once an hour, and written later`() async throws {
            let history = history(folder.path("later/history.sqlite"))
            for second in 0..<7200 {
                now.change { $0 += 1 }
                if second % 60 == 0 { history.take(state(Double(second))) }
                await history.write(at: .seconds(second))
            }
            let text = "\(folder.path("later/history.sqlite")) cannot be opened or created; trying again"
            #expect(notes.value == [text, text])
            try FileManager.default.createDirectory(atPath: folder.path("later"), withIntermediateDirectories: true)
            await history.write(at: .seconds(7205))
            #expect(notes.value.last == "\(folder.path("later/history.sqlite")) is written again")
            let points = try await history.points(device: "c47c8d000001", field: "temperature", hours: 3)
            #expect(points.points.count == 120)
        }

        @Test func `what does not fit into memory is counted, and told once an hour`() async throws {
            let history = history(folder.path("none/history.sqlite"))
            for hour in 0..<3 {
                for number in 0..<12_000 {
                    if number % 4000 == 0 { await history.write(at: .seconds(3600 * hour + number / 4)) }
                    now.change { $0 += 1 }
                    history.take(state(Double(hour * 12_000 + number)))
                }
            }
            await history.write(at: .seconds(4 * 3600))
            let dropped = notes.value.filter { $0.contains("could not be recorded") }
            #expect(dropped.count == 3, "\(notes.value)")
            let numbers = dropped.compactMap { Int($0.split(separator: " ")[1]) }
            #expect(numbers.reduce(0, +) == 26_000)
        }

        @Test func `a database that another program has locked is written when it is free`() async throws {
            let history = history()
            await history.write(at: .zero)
            var configuration = Configuration()
            configuration.allowsUnsafeTransactions = true
            let other = try DatabaseQueue(path: path, configuration: configuration)
            try await other.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE; CREATE TABLE x (y)") }
            history.take(state(1))
            await history.write(at: .seconds(1))
            #expect(notes.value == ["\(path) is locked by another program; trying again"])
            try await other.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
            await history.write(at: .seconds(6))
            #expect(notes.value.last == "\(path) is written again")
            #expect(try await samples().map(\.value) == [.number(1)])
        }

        @Test func `two gateways share a file`() async throws {
            let histories = [history(), history()]
            let start = now.value
            for second in 0..<100 {
                now.change { $0 = start + Int64(second) }
                for (index, history) in histories.enumerated() {
                    history.take(state(Double(second), device: "c47c8d00000\(index)"))
                    // A device that both hear.
                    history.take(state(Double(second), device: "c47c8d00000f"))
                }
                async let first: Void = histories[0].write(at: .seconds(second))
                async let second: Void = histories[1].write(at: .seconds(second))
                _ = await (first, second)
            }
            // What waited because the other one was writing.
            for history in histories { await history.write(at: .seconds(200)) }
            let samples = try await samples()
            #expect(samples.count == 300)
            #expect(Set(samples.map(\.device)).count == 3)
            let texts = Set(notes.value.map { $0.dropFirst(path.count) })
            #expect(texts.subtracting([" is locked by another program; trying again", " is written again"]) == [])
        }

        @Test(arguments: [true, false])
        func `a file that is moved away or removed is begun again`(isMoved: Bool) async throws {
            let history = history()
            history.take(state(1))
            await history.write(at: .zero)
            if isMoved {
                try FileManager.default.moveItem(atPath: path, toPath: folder.path("old.sqlite"))
            } else {
                try FileManager.default.removeItem(atPath: path)
            }
            now.change { $0 += 1 }
            history.take(state(2))
            await history.write(at: .seconds(1))
            #expect(notes.value == ["\(path) was moved or removed; a new one is written"])
            #expect(try await samples().map(\.value) == [.number(2)])
            if isMoved { #expect(try await samples("old.sqlite").map(\.value) == [.number(1)]) }
        }

        @Test func `a damaged file is left, and told of`() async throws {
            let first = history()
            for second in 0..<2000 {
                now.change { $0 += 1 }
                first.take(state(Double(second)))
            }
            await first.runToEnd()
            var bytes = try Data(contentsOf: URL(filePath: path))
            bytes.replaceSubrange(4096..<bytes.count, with: Data(repeating: 0xA5, count: bytes.count - 4096))
            try bytes.write(to: URL(filePath: path))
            let second = history()
            second.take(state(1))
            await second.write(at: .zero)
            #expect(notes.value == ["\(path) is damaged; trying again"])
            // SQLite counts in the header, of 100 bytes.
            #expect(try Data(contentsOf: URL(filePath: path)).dropFirst(100) == bytes.dropFirst(100))
        }

        @Test func `a plot says why a file cannot be read, without its texts of SQL`() async throws {
            try Data("precious".utf8).write(to: URL(filePath: path))
            let history = history()
            await #expect {
                try await history.points(device: "c47c8d000001", field: "rssi", hours: 24)
            } throws: { error in
                (error as? BLEError)?.code == .recordingFailed
                    && (error as? BLEError)?.message == "the history is not a database"
            }
        }

        @Test func `a plot of a file that does not exist is empty`() async throws {
            #expect(try await history().points(device: "c47c8d000001", field: "rssi", hours: 24) == HistoryPoints())
        }
    }

    extension History {
        /// Runs to the end, which comes at once.
        fileprivate func runToEnd() async {
            let run = Task { await self.run(ManualClock()) }
            run.cancel()
            await run.value
        }
    }
#endif
