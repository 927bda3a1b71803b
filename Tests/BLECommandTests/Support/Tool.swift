import BLETestSupport
import BlueZTestSupport
import Foundation
import Subprocess
import Testing

/// The `ble` that was built with the tests, run as a shell would run it.
struct Tool {
    struct Result {
        let status: Int32
        /// Whether a signal ended it, rather than the tool itself.
        let isKilled: Bool
        let output: String
        let errors: String

        /// Each line of output as a JSON object, without its time and version.
        var objects: [[String: Any]] { get throws { try Self.objects(output) } }

        /// The same for standard error.
        var errorObjects: [[String: Any]] { get throws { try Self.objects(errors) } }

        private static func objects(_ text: String) throws -> [[String: Any]] {
            try text.split(separator: "\n").map { line in
                let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
                var keys = try #require(object as? [String: Any])
                let time = keys.removeValue(forKey: "time") as? String
                let version = keys.removeValue(forKey: "version") as? Int
                #expect(version == 1, "\(line)")
                #expect(time?.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil, "\(line)")
                return keys
            }
        }
    }

    /// The clock of the tool.
    enum Time {
        case real
        /// Time stands still until the test lets it pass, see ``RunningProgram/pass(_:)``. The tool has no other input
        /// then.
        ///
        /// The central and its backend sleep on the same clock: a test chooses a unique length for the timeout that it
        /// tests.
        case virtual
    }

    /// The tool's path: in the directory of the test bundle, where SwiftPM puts the products.
    static let path = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "ble").path

    private let program: TestProgram

    /// - Parameters:
    ///   - input: the standard input.
    ///   - radio: the socket of the simulated radio that it shares with others. By default, it shares none.
    ///   - environment: variables that differ from this process's.
    init(
        _ arguments: [String], input: String = "", time: Time = .real, radio: String = "",
        environment: [Environment.Key: String?] = [:]
    ) {
        precondition(input.isEmpty || time == .real, "in virtual time the input is the time to pass")
        program =
            switch time {
            case .real:
                TestProgram(
                    Self.path, arguments,
                    environment: environment.merging(["BLE_SIMULATED_RADIO": radio]) { given, _ in given },
                    input: .text(input))
            case .virtual:
                TestProgram(
                    Self.path, arguments,
                    environment: environment.merging(["BLE_CLOCK": "stdin"]) { given, _ in given }, input: .writer)
            }
    }

    /// Runs to the end.
    static func run(_ arguments: String...) async throws -> Result {
        try await Tool(arguments).run()
    }

    /// Runs to the end, and `body` meanwhile.
    func run(_ body: (RunningProgram) async throws -> Void = { _ in }) async throws -> Result {
        let result = try await program.run(body)
        return Result(status: result.status, isKilled: result.isKilled, output: result.output, errors: result.errors)
    }

    /// Runs to the end, and `body` once there is a line of output.
    func afterFirstLine(_ body: (RunningProgram) async throws -> Void) async throws -> Result {
        try await run { program in
            try await program.output.until(lineCount: 1)
            try await body(program)
        }
    }
}

extension RunningProgram {
    /// Lets the time of a tool in virtual time pass, as soon as something in it sleeps for exactly that long.
    func pass(_ duration: Duration) async throws {
        try await write("\(Int((duration / .milliseconds(1)).rounded()))\n")
    }
}
