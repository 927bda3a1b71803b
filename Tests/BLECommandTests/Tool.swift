import BLETestSupport
import BlueZTestSupport
import Foundation
import Synchronization

/// Runs the `ble` that was built with the tests, as a shell would.
struct Tool {
    struct Result {
        let status: Int32
        let output: String
        let errors: String

        /// Each line of output as a JSON object.
        var objects: [[String: Any]] {
            get throws {
                try output.split(separator: "\n").map { line in
                    try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] ?? [:]
                }
            }
        }
    }

    /// What is given the tool for everything that it waits for, in seconds, where it is not meant to wait in vain.
    static let timeout = 5 * Patience.factor

    /// The directory of the test bundle, where SwiftPM puts the products.
    private static var executable: URL {
        let bundle = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        return bundle.appending(path: "ble")
    }

    private let process = Process()
    private let output = Pipe()
    private let errors = Pipe()

    /// - Parameter input: what is on standard input; nil for nothing.
    init(_ arguments: [String], input: String? = nil) {
        process.executableURL = Self.executable
        process.arguments = arguments
        process.standardOutput = output
        process.standardError = errors
        process.standardInput = FileHandle.nullDevice
        if let input {
            // (what fits a pipe can be written before anybody reads)
            let pipe = Pipe()
            pipe.fileHandleForWriting.write(Data(input.utf8))
            try? pipe.fileHandleForWriting.close()
            process.standardInput = pipe
        }
    }

    /// Runs to the end.
    static func run(_ arguments: String...) async throws -> Result {
        try await Tool(arguments).run()
    }

    func run() async throws -> Result {
        try process.runAlone()
        return try await finish()
    }

    /// Runs, and after the first line of output does something; then waits for the end.
    func run(afterFirstLine: (Process, Pipe) async throws -> Void) async throws -> Result {
        try process.runAlone()
        let first = try await Self.onThread { [output] in
            var bytes: [UInt8] = []
            while bytes.last != UInt8(ascii: "\n") {
                guard let more = try output.fileHandleForReading.read(upToCount: 1)?.first else { break }
                bytes.append(more)
            }
            return String(decoding: bytes, as: UTF8.self)
        }
        try await afterFirstLine(process, output)
        let rest = try await finish()
        return Result(status: rest.status, output: first + rest.output, errors: rest.errors)
    }

    /// Runs, does something meanwhile, and waits for the end.
    func run(meanwhile: (Process) async throws -> Void) async throws -> Result {
        try process.runAlone()
        try await meanwhile(process)
        return try await finish()
    }

    private func finish() async throws -> Result {
        async let output = Self.onThread { [output] in
            // (a test may have closed it)
            String(decoding: (try? output.fileHandleForReading.readToEnd()) ?? Data(), as: UTF8.self)
        }
        async let errors = Self.onThread { [errors] in
            String(decoding: try errors.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        }
        let texts = try await (output, errors)
        let process = process
        let status = try await Self.onThread {
            process.waitUntilExit()
            return process.terminationStatus
        }
        return Result(status: status, output: texts.0, errors: texts.1)
    }

    private static func onThread<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value
    {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Swift.Result { try work() }) }
        }
    }
}
