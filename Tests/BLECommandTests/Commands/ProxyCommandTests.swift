#if DeviceCommands
    import BLE
    import BLEESPHome
    import BLEFakeBlueZ
    import BLEProfiles
    import BLESimulation
    import BLETestSupport
    import BlueZTestSupport
    import Foundation
    import Subprocess
    import Testing

    @testable import BLECommand

    /// `ble proxy`, used as Home Assistant uses it.
    @Suite(.startsProcesses, .hangLimit)
    struct ProxyCommandTests {
        private let folder = FileManager.default.temporaryDirectory.appending(path: "proxy-\(UUID().uuidString)").path

        private var file: String { folder + "/state/proxy.key" }

        private func proxy(_ arguments: String..., radio: [String] = ["--backend", "simulated"]) -> Tool {
            Tool(
                ["proxy", "--host", "127.0.0.1", "--port", "0", "--json", "--key-file", file] + radio + arguments)
        }

        /// A central that uses the proxy which has written the output.
        private func central(_ output: String, key: String? = nil) async throws -> Central {
            let port = UInt16(output.firstMatch(of: /"port":(\d+)/)?.1 ?? "") ?? 0
            let key = try key ?? self.key
            return try await Central(
                backend: .esphome("127.0.0.1", port: port, key: try EncryptionKey(key)),
                configuration: .quiet())
        }

        /// The key in the file.
        private var key: String {
            get throws { try String(contentsOfFile: file, encoding: .utf8).trimmingCharacters(in: .newlines) }
        }

        private func mode(_ path: String) throws -> Int {
            try #require(FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
        }

        @Test func `a proxy makes its key once, serves those who have it, and ends with a signal`() async throws {
            defer { try? FileManager.default.removeItem(atPath: folder) }
            var key = ""
            let first = try await proxy("--name", "attic").run { program in
                try await program.output.until("\n", after: "\"listening\"")
                key = try self.key
                let central = try await central(program.output.text)
                let strap = try await central.first(matching: .name("Simulated Strap"), timeout: HangLimit.step)
                    .peripheral
                #expect(try await strap.read(.batteryLevel) == 90)
                try await program.output.until("\"connected\"")
                await central.shutDown()
                try await program.output.until("\"clientDisconnected\"")
                await #expect(throws: BLEError.self) {
                    try await self.central(program.output.text, key: EncryptionKey.random().text)
                }
                try await program.output.until("\"clientRefused\"")
                program.send(.interrupt)
            }
            #expect(first.status == 130, "\(first.errors)")
            #expect(try mode(file) == 0o600)
            _ = try EncryptionKey(key)
            // The output is no terminal, and may be a journal that others read.
            #expect(!first.output.contains(key))
            #expect(try first.objects.first?["file"] as? String == file)
            let events = try first.objects.compactMap { $0["event"] as? String }
            #expect(events.prefix(3) == ["keyMade", "listening", "clientConnected"])
            #expect(try first.objects.first { $0["event"] as? String == "listening" }?["name"] as? String == "attic")
            let second = try await proxy().run { program in
                try await program.output.until("\n", after: "\"listening\"")
                let central = try await central(program.output.text, key: key)
                #expect(try await central.adapters().count == 1)
                program.send(.terminate)
                // The proxy says that it ends, which the client notices at once.
                var states = await central.adapterStates().makeAsyncIterator()
                while let state = try await states.next(), state == .poweredOn {}
                await central.shutDown()
            }
            #expect(second.status == 143, "\(second.errors)")
            #expect(!second.output.contains("keyMade"))
            #expect(!second.output.contains(key))
            let third = try await proxy("--show-key").run { program in
                try await program.output.until("\n", after: "\"listening\"")
                program.send(.interrupt)
            }
            #expect(try third.objects.first as? [String: String] == ["event": "key", "key": key, "file": file])
        }

        @Test func `clients know a proxy by the address of its first start, with whatever adapters`() async throws {
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let world = try await BlueZWorld(isAsInstalled: true)
            await world.daemon.addAdapter("hci1")
            func address(_ radios: String..., arguments: [String] = []) async throws -> String? {
                let radio = ["--bus", world.bus.address] + radios.flatMap { ["--radio", $0] } + arguments
                let result = try await proxy(radio: radio).run { program in
                    try await program.output.until("\n", after: "\"listening\"")
                    program.send(.interrupt)
                }
                return try result.objects.last { $0["event"] as? String == "listening" }?["address"] as? String
            }
            // The named adapter is absent, and no other takes its place.
            let radios = ["--radio", "hci7", "--radio", "hci0"]
            let absent = try await proxy(radio: ["--bus", world.bus.address] + radios).run()
            #expect(absent.errors.contains("adapterNotFound"), "\(absent.errors)")
            #expect(!absent.output.contains("listening"))
            let first = try #require(try await address("hci1", "hci0"))
            #expect(try await address("hci0", "hci1") == first)
            #expect(try await address("hci7", "hci0") == first)
            let given = "02:00:00:00:00:07"
            #expect(try await address("hci0", "hci1", arguments: ["--address", given]) == given)
            try FileManager.default.removeItem(atPath: folder + "/state/proxy.address")
            let other = try await address("hci0", "hci1")
            #expect(other != nil && other != first)
        }

        @Test func `a key that others may read, or that is none, is refused`() async throws {
            defer { try? FileManager.default.removeItem(atPath: folder) }
            try FileManager.default.createDirectory(atPath: folder + "/state", withIntermediateDirectories: true)
            func write(_ text: String, _ mode: Int) throws {
                try text.write(toFile: file, atomically: false, encoding: .utf8)
                try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
            }
            try write(EncryptionKey.random().text, 0o640)
            let open = try await proxy().run()
            #expect(open.errors.contains("\"unauthorized\""))
            #expect(open.output == "")
            for text in ["", "secret\n", EncryptionKey.random().text + " " + EncryptionKey.random().text] {
                try write(text, 0o600)
                let wrong = try await proxy().run()
                #expect(wrong.errors.contains("has no key"))
            }
            try FileManager.default.removeItem(atPath: file)
            try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: folder + "/other")
            let linked = try await proxy().run()
            #expect(linked.status != 0)
            #expect(!FileManager.default.fileExists(atPath: folder + "/other"))
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder + "/state") == ["proxy.key"])
        }

        @Test(
            arguments: [
                (0o640, "read"), (0o602, "written"), (0o624, "read and written"), (0o711, nil), (0o600, nil),
            ] as [(Int, String?)])
        func `what others may do with a key file is told`(_ mode: Int, _ ways: String?) throws {
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let file = ProxyKeyFile(path: file)
            let key = try file.readOrMake().key.text
            _ = try file.keepAddress("02:00:00:00:00:07")
            for path in ["proxy.key", "proxy.address"] {
                try FileManager.default.setAttributes(
                    [.posixPermissions: mode], ofItemAtPath: folder + "/state/" + path)
            }
            do throws(BLEError) {
                #expect(try file.readOrMake().key.text == key)
                #expect(ways == nil)
            } catch {
                #expect(error.code == .unauthorized)
                #expect(error.message.hasSuffix("can be \(ways ?? "nothing") by others"))
            }
            do throws(BLEError) {
                // Everybody in the network learns the address.
                #expect(try file.readAddress() == "02:00:00:00:00:07")
                #expect(mode & 0o022 == 0)
            } catch {
                #expect(error.message.hasSuffix("can be written by others"))
            }
        }

        @Test func `processes that start in one moment have one key`() async throws {
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let path = file
            let keys = try await withThrowingTaskGroup(of: (String, Bool).self) { group in
                for _ in 0..<2 {
                    group.addTask {
                        let result = try ProxyKeyFile(path: path).readOrMake()
                        return (result.key.text, result.isNew)
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(Set(keys.map(\.0)).count == 1)
            #expect(keys.count { $0.1 } == 1)
        }

        @Test(arguments: [false, true])
        func `a Matter server that is away is told, and nothing listens but for --esphome`(
            _ servesOthers: Bool
        ) async throws {
            defer { try? FileManager.default.removeItem(atPath: folder) }
            // Port 1 is that of no server.
            let matter = ["proxy", "--matter", "ws://127.0.0.1:1", "--json", "--backend", "simulated"]
            let others = ["--esphome", "--host", "127.0.0.1", "--port", "0", "--key-file", file]
            let result = try await Tool(matter + (servesOthers ? others : [])).run { program in
                try await program.output.until("\n", after: "\"serverNotReached\"")
                if servesOthers {
                    try await program.output.until("\n", after: "\"listening\"")
                    let central = try await central(program.output.text)
                    #expect(try await central.adapters().count == 1)
                    await central.shutDown()
                }
                program.send(.interrupt)
            }
            #expect(result.status == 130, "\(result.errors)")
            let missed = try result.objects.first { $0["event"] as? String == "serverNotReached" }
            #expect(missed?["server"] as? String == "ws://127.0.0.1:1/ble")
            #expect(missed?["reason"] as? String == "Connection refused")
            #expect(missed?["retryAfter"] as? Double == 0.5)
            #expect(!result.output.contains("serverLost"))
            #expect(result.output.contains("\"listening\"") == servesOthers)
            #expect(result.output.contains("\"keyMade\"") == servesOthers)
        }

        @Test func `a Matter server that a proxy is not connected to is told with the reason`() async throws {
            let arguments = ["proxy", "--matter", "ws://127.0.0.1:1", "--backend", "simulated"]
            let result = try await Tool(arguments).run { program in
                try await program.output.until("\n", after: "not connected")
                program.send(.interrupt)
            }
            let line = "not connected to the Matter server ws://127.0.0.1:1/ble: Connection refused; trying again"
            #expect(result.output.contains(line), "\(result.output)")
        }

        @Test func `without bluetoothd, a proxy tells once that it waits and why, and goes on`() async throws {
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let world = try await BlueZWorld(isAsInstalled: true)
            await world.daemon.kill()
            let result = try await proxy(radio: ["--bus", world.bus.address]).run { program in
                try await program.errors.until("bluetoothd is not running; waiting. Start it: systemctl start")
                try await world.daemon.start()
                try await program.output.until("\n", after: "\"listening\"")
                try await program.errors.until("Bluetooth is available")
                // It goes again, and comes back.
                await world.daemon.kill()
                try await program.errors.until(count: 2, "; waiting")
                try await world.daemon.start()
                try await program.errors.until(count: 2, "Bluetooth is available")
                program.send(.interrupt)
            }
            #expect(result.status == 130, "\(result.errors)")
            let notes = try result.errorObjects.compactMap { $0["note"] as? String }
            #expect(notes.count { $0.contains("bluetoothd is not running; waiting") } == 1, "\(notes)")
        }

        @Test func `the end of a proxy tells the ends of its links and clients`() async throws {
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let result = try await proxy().run { program in
                try await program.output.until("\n", after: "\"listening\"")
                let central = try await central(program.output.text)
                let strap = try await central.first(matching: .name("Simulated Strap"), timeout: HangLimit.step)
                    .peripheral
                try await strap.connect()
                try await program.output.until("\"connected\"")
                program.send(.interrupt)
                var states = await central.adapterStates().makeAsyncIterator()
                while let state = try await states.next(), state == .poweredOn {}
                await central.shutDown()
            }
            #expect(result.status == 130, "\(result.errors)")
            let events = try result.objects.compactMap { $0["event"] as? String }
            #expect(
                events == [
                    "keyMade", "listening", "clientConnected", "connected", "clientDisconnected", "disconnected",
                ])
            let address = try result.objects.first { $0["event"] as? String == "listening" }?["address"] as? String
            #expect(address == "C0:FF:EE:00:00:01")
        }

        @Test func `a port in use is temporary, and a scan through a lost proxy names the proxy`() async throws {
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let first = try await proxy().run { program in
                try await program.output.until("\n", after: "\"listening\"")
                let port = try #require(program.output.text.firstMatch(of: /"port":(\d+)/)?.1)
                let arguments = ["--backend", "simulated", "--key-file", file]
                let second = try await Tool(
                    ["proxy", "--host", "127.0.0.1", "--port", String(port), "--json"] + arguments
                ).run()
                #expect(second.status == 75, "\(second.errors)")
                #expect(second.errors.contains("another program uses it"))
                #expect(second.errors.contains("or choose another port"))
                let radio = "esphome://127.0.0.1:\(port)?key-file=\(file)"
                let scan = try await Tool(["scan", "--duration", "0", "--json", "--radio", radio])
                    .afterFirstLine { _ in program.send(.terminate) }
                #expect(scan.status == 20, "\(scan.errors)")
                let failure = try #require(scan.errorObjects.compactMap { $0["error"] as? [String: Any] }.last)
                #expect(failure["message"] as? String == "the proxy 127.0.0.1:\(port) closed the connection")
                #expect((failure["remedy"] as? String)?.contains("switched on") == true)
                #expect(!scan.errors.contains("bluetoothd"))
            }
            #expect(first.status == 143, "\(first.errors)")
        }

        @Test func `without encryption, the proxy says so`() async throws {
            let tool = Tool(["proxy", "--port", "0", "--no-encryption", "--backend", "simulated", "--name", "open"])
            let result = try await tool.afterFirstLine { $0.send(.interrupt) }
            #expect(
                result.output.wholeMatch(of: /open \(.*\) listens at 127\.0\.0\.1, port \d+, without a key\n/) != nil)
        }

        @Test func `a proxy scans with two adapters, and a passive scan is active where there is none`() async throws {
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let world = try await BlueZWorld(isAsInstalled: true)
            await world.daemon.addAdapter("hci1")
            _ = await world.radio.add(.battery(name: "Thing"))
            let bus = ["--bus", world.bus.address, "--radio", "hci0", "--radio", "hci1"]
            let result = try await proxy(radio: bus).run { program in
                try await program.output.until("\n", after: "\"listening\"")
                let central = try await central(program.output.text)
                let thing = try await central.first(matching: .passive, timeout: HangLimit.step).peripheral
                _ = try await thing.read(.batteryLevel)
                await central.shutDown()
                program.send(.interrupt)
            }
            #expect(result.status == 130, "\(result.errors)")
        }

        @Test(
            arguments: [
                "--clients 0", "--address x", "--no-encryption --show-key", "--links 65", "--name Attic",
                "--no-encryption --key-file x",
                "--esphome", "--matter http://hub:5580/ble", "--matter wss://hub:5580/ble",
                "--matter ws://hub --links 0",
                "--matter ws://hub --port 0", "--matter ws://hub --no-encryption", "--matter ws://hub --clients 2",
                "--radio hci0 --radio hci0", "--radio hci0 --adapter hci1", "--radio hci0 --radio hci1 --record x",
            ])
        func `wrong usage is refused before Bluetooth starts`(_ arguments: String) async throws {
            let result = try await Tool(["proxy"] + arguments.split(separator: " ").map(String.init)).run()
            #expect(result.status == 64, "\(result.errors)")
        }
    }
#endif
