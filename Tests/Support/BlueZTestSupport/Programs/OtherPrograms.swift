public import BLE
import BLETestSupport
public import Foundation
import Subprocess
import Testing

/// Programs of other authors that use bluetoothd, in sessions with the contract's strap. What they get and hear from the
/// real bluetoothd is recorded in `Tests/Tools/Clients`.
public enum OtherPrograms {
    /// The interpreter that has them; nil unless `Scripts/guest/prepare venv` has made it, and bluetoothctl is installed.
    public static let python: String? = {
        let path = Checkout.url(".build/guest/venv/bin/python3").path
        return [path, "/usr/bin/bluetoothctl"].allSatisfy(FileManager.default.isExecutableFile) ? path : nil
    }()

    /// Whether the interpreter has a package: it lacks those that were added to `Scripts/guest/requirements.txt` since it was
    /// made.
    public static func has(_ package: String) -> Bool {
        let library = Checkout.url(".build/guest/venv/lib")
        let versions = try? FileManager.default.contentsOfDirectory(atPath: library.path)
        return python != nil
            && (versions ?? []).contains {
                FileManager.default.fileExists(atPath: library.appending(path: "\($0)/site-packages/\(package)").path)
            }
    }

    /// What a client on aiomqtt reads of a gateway and of a device, and what it is answered (`aiomqtt_session.py`).
    public static func mqttSession(port: UInt16, device: String) async throws -> String {
        try await session("aiomqtt", ["\(port)", device], bus: nil)
    }

    /// What a page on websockets gets from `ble web`, and what it is refused (`websockets_session.py`).
    public static func webSession(port: UInt16, token: String, strap: String, lamp: String) async throws -> String {
        try await session("websockets", ["\(port)", token, strap, lamp], bus: nil)
    }

    /// Node.js, which runs the tests of the page's own code.
    public static let node: String? = ["/usr/bin/node"].first(where: FileManager.default.isExecutableFile)

    /// Debian's headless Chromium. Nil where there is none, as on Ubuntu.
    public static let chromium: String? = ["/usr/bin/chromium-headless-shell"]
        .first(where: FileManager.default.isExecutableFile)

    /// What the page of `ble web` shows in a headless Chromium (`page_session.py`). Screenshots are kept in `.build/page`.
    public static func pageSession(
        address: String, token: String, strap: String, lamp: String, hostile: String
    ) async throws -> String {
        let folder = Checkout.url(".build/page").path
        return try await session("page", [chromium ?? "", address, token, strap, lamp, hostile, folder], bus: nil)
    }

    /// What smpclient says of a device that `BLEFirmware` serves, and how fast its upload is (`smpclient_session.py`).
    ///
    /// - Parameters:
    ///   - name: what the device advertises.
    ///   - adapter: the adapter that smpclient uses, which is not that of the device.
    ///   - length: the length of the image, in bytes.
    ///   - bus: nil for the system's.
    public static func firmwareSession(
        name: String, adapter: String, length: Int, bus: String? = nil
    ) async throws -> String {
        try await session("smpclient", [name, "--adapter", adapter, "--length", "\(length)"], bus: bus)
    }

    /// What aioesphomeapi, and bleak-esphome with habluetooth, do with the strap through `ble proxy` (`proxy_session.py`),
    /// and what the proxy writes of it, as JSON.
    ///
    /// - Parameters:
    ///   - bus: nil for the system's.
    ///   - notify: sends the values with these numbers from the strap.
    public static func proxySession(
        bus: String? = nil, notify: (_ numbers: Range<Int>) async throws -> Void
    ) async throws -> (session: String, proxy: String) {
        let tool = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "ble").path
        let file = FileManager.default.temporaryDirectory.appending(path: "proxy-\(UUID().uuidString).key").path
        defer {
            try? FileManager.default.removeItem(atPath: file)
            try? FileManager.default.removeItem(atPath: file.dropLast(4) + ".address")
        }
        var arguments = [
            "proxy", "--host", "127.0.0.1", "--port", "0", "--key-file", file, "--json", "--timeout", "60",
        ]
        if let bus { arguments += ["--bus", bus] }
        var session = ""
        let proxy = try await TestProgram(tool, arguments).run { proxy in
            try await proxy.output.until("\n", after: "\"listening\"")
            let port = proxy.output.text.firstMatch(of: /"port":(\d+)/)?.1 ?? ""
            let script = Checkout.url("Tests/Tools/Clients/proxy_session.py").path
            let result = try await TestProgram(
                "timeout", ["-s", "INT", "600", python ?? "python3", "-B", script, "\(port)", file]
            ).run { running in
                try await running.output.until("subscribed\n")
                // Few at a time: of values that it does not read in time, bluetoothd's kernel drops some.
                for first in stride(from: 0, to: 1000, by: 50) {
                    try await notify(first..<first + 50)
                    try await running.output.until("got \(first + 50)\n")
                }
            }
            guard result.status == 0 else {
                throw Guest.Failure(command: script, answer: result.output + result.errors + proxy.output.text)
            }
            session = result.output
            proxy.send(.interrupt)
        }
        #expect(proxy.status == 130, "\(proxy.errors)")
        return (session, proxy.output)
    }

    /// What a Matter server on websockets (`matter_session.py`) does with a device through `ble proxy --matter`, and what
    /// the proxy writes of it, as JSON.
    ///
    /// - Parameter device: the address of a device that repeats what is written to it.
    public static func matterSession(device: String, bus: String) async throws -> (session: String, proxy: String) {
        let tool = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "ble").path
        let script = Checkout.url("Tests/Tools/Clients/matter_session.py").path
        var proxy = ""
        let session = try await TestProgram(
            "timeout", ["-s", "INT", "1100", python ?? "python3", "-B", script, device]
        ).run { server in
            try await server.output.until("\n", after: "\"port\"")
            let port = server.output.text.firstMatch(of: /"port": (\d+)/)?.1 ?? ""
            let arguments = [
                "proxy", "--matter", "ws://127.0.0.1:\(port)/ble", "--json", "--bus", bus, "--timeout", "600",
            ]
            let result = try await TestProgram(tool, arguments).run { proxy in
                do { try await server.output.until("\"end\"") } catch {
                    throw Guest.Failure(command: script, answer: server.output.text + server.errors.text)
                }
                // The server is answered before the event is written.
                try await proxy.output.until(count: 2, "\"disconnected\"")
                proxy.send(.interrupt)
            }
            #expect(result.status == 130, "\(result.errors)")
            proxy = result.output
        }
        guard session.status == 0 else {
            throw Guest.Failure(command: script, answer: session.output + session.errors + proxy)
        }
        return (session.output, proxy)
    }

    /// What bleak gets, and what it and bluetoothd say to each other.
    ///
    /// - Parameter bus: nil for the system's.
    public static func bleakSession(bus: String? = nil) async throws -> String {
        try await session("bleak", ["--messages"], bus: bus)
    }

    /// What bluetoothctl shows.
    ///
    /// - Parameter bus: nil for the system's.
    public static func bluetoothctlSession(bus: String? = nil) async throws -> String {
        try await session("bluetoothctl", [], bus: bus)
    }

    private static func session(_ name: String, _ arguments: [String], bus: String?) async throws -> String {
        let script = Checkout.url("Tests/Tools/Clients/\(name)_session.py").path
        // Interrupted, it shows how far it came.
        let result = try await TestProgram(
            "timeout", ["-s", "INT", "600", python ?? "python3", "-B", script] + arguments,
            environment: bus.map { ["DBUS_SYSTEM_BUS_ADDRESS": $0] } ?? [:]
        ).run()
        guard result.status == 0 else {
            throw Guest.Failure(command: script, answer: result.output + result.errors)
        }
        return result.output
    }

    /// What a program on bluez-peripheral that serves "Python" (`serve_peripheral.py`) and bluetoothd say to each other
    /// while a central uses it.
    ///
    /// - Parameter bus: nil for the system's.
    public static func pythonPeripheralSession(bus: String? = nil, _ central: Central) async throws -> String {
        let script = Checkout.url("Tests/Tools/Clients/serve_peripheral.py").path
        let program = TestProgram(
            python ?? "python3", ["-B", script],
            environment: bus.map { ["DBUS_SYSTEM_BUS_ADDRESS": $0] } ?? [:], input: .writer)
        let result = try await program.run { running in
            try await running.output.until("advertising")
            try await usePythonPeripheral(central) { step in
                try await running.write(step + "\n")
                try await running.output.until("## \(step)\n")
            }
            await running.closeInput()
        }
        guard result.status == 0 else { throw Guest.Failure(command: script, answer: result.errors) }
        return result.output
    }

    /// Finds "Python", and reads, writes and subscribes.
    ///
    /// - Parameter end: called at the end of a step.
    private static func usePythonPeripheral(_ central: Central, _ end: (String) async throws -> Void) async throws {
        let output = Characteristic<[UInt8]>(BluetoothUUID(0xFFE1))
        let remote = try await central.first(matching: .name("Python"), timeout: HangLimit.step).peripheral
        #expect(try await remote.read(output) == Array("first".utf8))
        try await end("a central reads")
        var values = try await remote.notifications(output).makeAsyncIterator()
        try await end("a central subscribes")
        try await remote.write([1, 2, 3], to: Characteristic<[UInt8]>(BluetoothUUID(0xFFE2)))
        #expect(try await values.next() == [1, 2, 3])
        try await end("a central writes and gets a value")
        #expect(try await remote.read(output) == [1, 2, 3])
        try await end("a central reads what was written")
        try await remote.disconnect()
        try await end("the central disconnects")
    }

    /// A program whose session with the real bluetoothd is recorded.
    public enum Recorded: String, CaseIterable, Sendable {
        case bleak
        /// As a peripheral.
        case bluezPeripheral = "bluez-peripheral"
        case bluetoothctl

        /// Whether the messages are recorded, too.
        public var hasMessages: Bool { self != .bluetoothctl }

        /// The file of the session with a version of bluetoothd, such as 66 for 5.66. bluetoothctl shows the same with
        /// each.
        public func url(_ minorVersion: Int) -> URL {
            Checkout.url("Tests/Tools/Clients/\(rawValue)\(hasMessages ? "-5.\(minorVersion)" : "").txt")
        }

        public func session(_ minorVersion: Int) throws -> String {
            try String(contentsOf: url(minorVersion), encoding: .utf8)
        }
    }

    /// The lines that only one of two texts has. Empty if they are the same.
    public static func difference(_ actual: String, _ expected: String) -> [String] {
        let (one, other) = (actual.split(separator: "\n"), expected.split(separator: "\n"))
        return one.difference(from: other).map { change in
            switch change {
            case .insert(let line, let text, _): "+\(line + 1) \(text)"
            case .remove(let line, let text, _): "-\(line + 1) \(text)"
            }
        }
    }
}
