import Testing

@testable import BLECommand

@Suite struct InvocationTests {
    private static let commands = ["scan": [], "read": [], "notify": [], "demo": ["lock"]]

    @Test(
        arguments: [
            (["-vv", "read", "X", "2a19"], ["read", "-vv", "X", "2a19"]), (["read", "-vv"], ["read", "-vv"]),
            (["--verbose", "--json", "scan"], ["scan", "--verbose", "--json"]), (["help", "scan"], ["help", "scan"]),
            (["--json", "demo", "lock", "-v"], ["demo", "lock", "--json", "-v"]),
            (["-v", "demo", "--json", "lock"], ["demo", "lock", "-v", "--json"]), (["-v", "demo"], ["demo"]),
            (["-v", "demo", "look"], ["demo", "look"]), (["demo", "--help"], ["demo", "--help"]),
            (
                ["--bus", "unix:path=/x", "--timeout=3", "scan", "-v"],
                ["scan", "--bus", "unix:path=/x", "--timeout=3", "-v"]
            ),
            (["-v", "demo", "--backend", "simulated", "lock"], ["demo", "lock", "-v", "--backend", "simulated"]),
            (["--record", "a", "--replay=b", "scan"], ["scan", "--record", "a", "--replay=b"]),
            (["--adapter"], ["--adapter"]), (["--bus=x"], ["--bus=x"]),
            (["--count", "3", "scan"], ["--count", "3", "scan"]),
            ([], []), (["--version"], ["--version"]), (["-v"], ["-v"]), (["help"], ["help"]),
        ])
    func `options before the command belong to it`(_ given: [String], _ arguments: [String]) throws {
        #expect(try Invocation(given, commands: Self.commands).arguments == arguments)
    }

    @Test(arguments: [
        ("scna", "Did you mean scan?"), ("notifi", "Did you mean notify?"), ("devices", "DeviceCommands"),
    ])
    func `an unknown command is an error, also of help`(_ name: String, _ message: String) {
        for given in [[name], ["help", name], ["-v", name, "lock"]] {
            let error = #expect(throws: (any Error).self) { try Invocation(given, commands: Self.commands) }
            #expect(error.map { "\($0)".contains(message) } == true)
        }
    }

    @Test func `the exit statuses are a topic of help`() throws {
        #expect(try Invocation(["help", "exit-status"], commands: Self.commands).asksForStatuses)
        #expect(try !Invocation(["help", "scan"], commands: Self.commands).asksForStatuses)
    }
}
