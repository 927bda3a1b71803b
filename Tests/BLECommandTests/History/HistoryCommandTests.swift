import BLE
import BLEDefinitions

#if Gateway
    import BLE
    import BLEBTHome
    import BLEFakeBlueZ
    import BLESimulation
    import BLETestSupport
    import BlueZTestSupport
    import Foundation
    import Subprocess
    import Testing

    @testable import BLECommand

    /// What `ble gateway` writes, and `ble history` reads, as programs.
    @Suite(.startsProcesses, .hangLimit)
    struct HistoryCommandTests {
        private let world: BlueZWorld
        private let broker: TestBroker
        private var file: String { broker.path("history.sqlite") }

        init() async throws {
            world = try await BlueZWorld()
            broker = try TestBroker(port: try TestBroker.freePort())
        }

        private func configuration() throws -> String {
            let text = """
                {"id": "kitchen", "broker": {"host": "127.0.0.1", "port": \(broker.port ?? 0)},
                 "history": {"file": "\(file)", "megabytes": 1},
                 "devices": {"freezer": {"address": "C4:7C:8D:00:00:01", "name": "Freezer"}}}
                """
            let path = broker.path("gateway.json")
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            return path
        }

        private static func advertisement(_ celsius: Double) throws -> Advertisement {
            var advertisement = Advertisement(localName: "Thermometer")
            try BTHome([try BTHomeObject(try #require(BTHomeKind(id: 2)), value: celsius)]).encode(into: &advertisement)
            return advertisement
        }

        /// Runs `body` while a thermometer in the air measures another temperature each second: 1, 2, 3 and so on.
        private func withThermometer(_ body: () async throws -> Void) async throws {
            let thermometer = await world.radio.add(
                PeripheralDefinition(
                    address: "C4:7C:8D:00:00:01", advertisement: try Self.advertisement(1), services: []))
            let sensor = Task {
                var celsius = 1.0
                while !Task.isCancelled {
                    try await ContinuousClock().sleep(for: .seconds(1))
                    celsius = celsius < 300 ? celsius + 1 : 1
                    await thermometer.setAdvertisement(try Self.advertisement(celsius))
                }
            }
            defer { sensor.cancel() }
            try await body()
        }

        /// Returns the temperatures in the file, read here. None before the file has one.
        private func recorded() async throws -> [Double] {
            guard let history = try? await HistoryFile.open(file, for: .reading) else { return [] }
            let (samples, _) = try await history.page(from: 0, HistoryFile.Selection(field: "temperature"))
            await history.close()
            return samples.compactMap { if case .number(let celsius) = $0.value { celsius } else { nil } }
        }

        /// Returns the temperatures in the file, as `ble history` shows them. None before the file has one.
        private func temperatures() async throws -> [String] {
            let output = try await Tool.run("history", "--file", file, "--field", "temperature").output
            return output.split(separator: "\r\n").dropFirst().map { String($0.split(separator: ",")[5]) }
        }

        private func pause() async throws { try await ContinuousClock().sleep(for: .milliseconds(100)) }

        /// The result of SQLite's own check, in another program.
        private func integrity() async throws -> String {
            let connection = "import sqlite3, sys; connection = sqlite3.connect(sys.argv[1]); "
            let check = "print(connection.execute('PRAGMA integrity_check').fetchone())"
            return try await TestProgram("python3", ["-c", connection + check, file]).run().output
        }

        @Test func `a gateway that is killed loses no file, and nothing that was in it`() async throws {
            try await withThermometer {
                for round in 1...3 {
                    var before: [Double] = []
                    let result = try await world.ble("gateway", "--config", try configuration()).run { gateway in
                        try await gateway.until {
                            try await pause()
                            before = try await recorded()
                            return before.count >= 2 * round
                        }
                        gateway.send(.kill)
                    }
                    #expect(result.isKilled)
                    #expect(!result.errors.contains("sqlite"), "\(result.errors)")
                    #expect(FileManager.default.fileExists(atPath: file + "-wal"))
                    // The first to open the file after the gateway's death is a reader.
                    #expect(try await temperatures().compactMap { Double($0) }.starts(with: before))
                    #expect(try await integrity() == "('ok',)\n")
                }
            }
        }

        @Test func `a gateway that ends has written everything that it published`() async throws {
            try await broker.run { _ in
                _ = await world.radio.add(
                    PeripheralDefinition(
                        address: "C4:7C:8D:00:00:01", advertisement: try Self.advertisement(-18.5), services: []))
                let result = try await world.ble("gateway", "--config", try configuration()).run { gateway in
                    _ = try await broker.read(["ble/device/c47c8d000001/state"], count: 1)
                    gateway.send(.terminate)
                }
                #expect(result.status == 0)
                #expect(try await temperatures() == ["-18.5"])
            }
        }

        @Test func `without room on the disk, a gateway publishes, and writes what waits once there is room`()
            async throws
        {
            // The limit of a file's size, of which a write beyond it reports an error.
            let script = #"trap '' XFSZ; ulimit -S -f 48; echo $$; exec "$@""#
            let tool = [Tool.path, "gateway", "--config", try configuration(), "--bus", world.bus.address]
            let program = TestProgram("bash", ["-c", script, "bash"] + tool)
            let subscriber = broker.subscriber(["ble/device/c47c8d000001/state"], count: 1_000_000, format: "%p")
            try await broker.run { broker in
                _ = try await subscriber.run { subscriber in
                    try await broker.untilSubscribed("ble/device/c47c8d000001/state")
                    try await withThermometer {
                        _ = try await program.run { gateway in
                            try await gateway.errors.until("\(file) cannot be")
                            let count = subscriber.output.text.split(separator: "\n").count
                            try await subscriber.output.until(lineCount: count + 3)
                            let process = gateway.output.text.split(separator: "\n").first.map(String.init)
                            let options = ["--pid", try #require(process), "--fsize=unlimited"]
                            #expect(try await TestProgram("prlimit", options).run().status == 0)
                            try await gateway.errors.until("\(file) is written again")
                            gateway.send(.terminate)
                        }
                    }
                    // What was published before, during and after is there.
                    let published = subscriber.output.text.matches(of: /"temperature":(\d+)/).map { String($0.1) }
                    #expect(published.count >= 4)
                    #expect(try await Set(published).subtracting(temperatures()) == [])
                    #expect(try await integrity() == "('ok',)\n")
                    subscriber.send(.kill)
                }
            }
        }

        @Test func `a read-only file is told of, and the gateway publishes`() async throws {
            _ = await world.radio.add(
                PeripheralDefinition(
                    address: "C4:7C:8D:00:00:01", advertisement: try Self.advertisement(1), services: []))
            try await HistoryFile.open(file, for: .writing).close()
            try FileManager.default.setAttributes([.posixPermissions: 0o400], ofItemAtPath: file)
            // Root could write it all the same.
            let program = geteuid() == 0 ? ["setpriv", "--bounding-set=-dac_override", "--", Tool.path] : [Tool.path]
            let arguments = ["gateway", "--config", try configuration(), "--bus", world.bus.address]
            try await broker.run { _ in
                _ = try await TestProgram(program[0], program.dropFirst() + arguments).run { gateway in
                    try await gateway.errors.until("\(file) cannot be written: it is read-only; trying again")
                    #expect(try await broker.read(["ble/device/c47c8d000001/state"], count: 1).count == 1)
                    gateway.send(.terminate)
                }
            }
        }

        @Test func `the check says what is wrong with the file`() async throws {
            try "precious".write(toFile: file, atomically: true, encoding: .utf8)
            let result = try await world.ble("gateway", "--check", "--config", try configuration()).run()
            #expect(result.status == 64)
            #expect(result.errors.contains("history.file: \(file) is not a database"), "\(result.errors)")
        }

        // MARK: Output

        /// Writes a history with texts as a hostile peripheral has them.
        private func writeSamples() async throws -> [Sample] {
            let names = ["Freezer", "a,b", "say \"x\"", "=1+1", "+1", "-1", "@x", "two\nlines\r", "é🔋", ""]
            let samples = names.enumerated().flatMap { index, name -> [Sample] in
                let values: [SensorReading.Value] = [.number(-18.5), .number(1e21), .flag(true), .text(name)]
                return values.enumerated().map { field, value in
                    Sample(
                        device: index == 0 ? "private_watch" : "c47c8d00000\(index)", entry: "entry \(index)",
                        name: name, field: "f\(field)", value: value, unit: field == 0 ? "°C" : nil,
                        second: 1_764_201_600 + Int64(index))
                }
            }
            let history = try await HistoryFile.open(file, for: .writing)
            #expect(try await history.write(samples, megabytes: 1) == 0)
            await history.close()
            return samples
        }

        @Test func `Python reads the CSV, and numbers are as they were`() async throws {
            let samples = try await writeSamples()
            let result = try await Tool.run("history", "--file", file)
            #expect(result.status == 0)
            let script =
                "import csv, io, json, sys; " + "text = sys.stdin.buffer.read().decode(); "
                + "print(json.dumps(list(csv.reader(io.StringIO(text, newline=''), strict=True))))"
            let read = try await TestProgram("python3", ["-c", script], input: .text(result.output)).run()
            let rows = try #require(
                try JSONSerialization.jsonObject(with: Data(read.output.utf8)) as? [[String]], "\(read.errors)")
            #expect(rows.first == ["time", "device", "entry", "name", "field", "value", "unit"])
            #expect(rows.count == samples.count + 1)
            #expect(rows.allSatisfy { $0.count == 7 })
            #expect(rows.dropFirst().filter { $0[4] == "f0" }.allSatisfy { $0[5] == "-18.5" && $0[6] == "°C" })
            #expect(rows.dropFirst().filter { $0[4] == "f1" }.allSatisfy { Double($0[5]) == 1e21 })
            #expect(rows.dropFirst().filter { $0[4] == "f2" }.allSatisfy { $0[5] == "true" })
            let texts = rows.filter { $0[4] == "f3" }
            #expect(texts.map { $0[5] } == texts.map { $0[3] })
            #expect(
                texts.map { $0[5] } == [
                    "Freezer", "a,b", "say \"x\"", "'=1+1", "'+1", "'-1", "'@x", "two\u{FFFD}lines\u{FFFD}", "é🔋", "",
                ])
            #expect(rows[1][0] == "2025-11-27T00:00:00.000Z")
        }

        @Test func `JSON Lines are as the schema says, and have texts unchanged`() async throws {
            let samples = try await writeSamples()
            let result = try await Tool.run("history", "--file", file, "--json", "--field", "f3")
            let schema = try OutputSchema()
            let objects = try result.output.split(separator: "\n").map {
                try JSONSerialization.jsonObject(with: Data($0.utf8))
            }
            #expect(objects.flatMap { schema.mistakes(in: $0, of: "history") } == [])
            let lines = objects.compactMap { $0 as? [String: Any] }
            #expect(lines.map { $0["value"] as? String } == samples.filter { $0.field == "f3" }.map(\.name))
            #expect(lines.first?["time"] as? String == "2025-11-27T00:00:00.000Z")
            #expect(lines.map { $0["id"] as? String }.prefix(2) == [nil, "C4:7C:8D:00:00:01"])
        }

        @Test(arguments: [
            (["--device", "C4:7C:8D:00:00:04"], 4), (["--device", "c47c8d000004", "--field", "f0"], 1),
            (["--device", "entry 4"], 4), (["--device", "=1+1"], 4), (["--field", "f1"], 10), (["--hours", "1"], 0),
        ])
        func `samples are selected`(options: [String], count: Int) async throws {
            _ = try await writeSamples()
            if options == ["--device", "=1+1"] { #expect(try await writeSamples()[12].name == "=1+1") }
            let result = try await Tool(["history", "--file", file, "--json"] + options).run()
            #expect(result.status == 0, "\(result.errors)")
            #expect(try result.objects.count == count)
        }

        @Test func `what is not there is told, with its exit status`() async throws {
            let missing = try await Tool.run("history", "--file", file)
            #expect(missing.status == 74)
            #expect(missing.errors.contains("“\(file)” cannot be opened or created"), "\(missing.errors)")
            #expect(!FileManager.default.fileExists(atPath: file))
            _ = try await writeSamples()
            let unknown = try await Tool.run("history", "--file", file, "--device", "attic")
            #expect(unknown.status == 16)
            #expect(unknown.output.isEmpty)
            #expect(try await Tool.run("history", "--file", file, "--hours", "-1").status == 64)
        }
    }
#endif
