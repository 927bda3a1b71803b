import BLETestSupport
import BlueZTestSupport
import Foundation
import Subprocess
import Testing

/// Commands in two terminals meet on one simulated radio.
@Suite(.startsProcesses, .hangLimit)
struct SharedRadioTests {
    private let path = FileManager.default.temporaryDirectory.appending(path: "radio-\(UUID().uuidString)").path

    private func tool(_ arguments: String...) -> Tool {
        Tool(arguments + ["--backend", "simulated"], radio: path)
    }

    @Test func `what one command serves, another finds and reads, and it ends with the first`() async throws {
        let served = try await tool("serve", "battery", "--name", "Ours", "--json").afterFirstLine { server in
            let read = try await tool("read", "Ours", "battery-level", "--json").run()
            #expect(read.status == 0, "\(read.errors)")
            // The usual peripherals are there, too.
            let strap = try await tool("read", "Simulated Strap", "body-sensor-location", "--json").run()
            #expect(strap.status == 0, "\(strap.errors)")
            server.send(.interrupt)
        }
        #expect(served.status == 130, "\(served.errors)")
        #expect(served.output.contains("subscribed") == false)
        #expect(!FileManager.default.fileExists(atPath: path))
        // Without a server, a command has a radio of its own again.
        let alone = try await tool("read", "Simulated Strap", "battery-level").run()
        #expect(alone.status == 0, "\(alone.errors)")
    }

    @Test func `a second server has an adapter of its own`() async throws {
        let first = try await tool("serve", "battery", "--name", "First", "--json").afterFirstLine { first in
            let second = try await tool("serve", "weather-station", "--name", "Second", "--json")
                .afterFirstLine { second in
                    for name in ["First", "Second"] {
                        let found = try await tool("inspect", name, "--json").run()
                        #expect(found.status == 0, "\(found.errors)")
                        // A merged one would have the services of both.
                        #expect(found.output.contains("180f") != found.output.contains("181a"), "\(found.output)")
                    }
                    let third = try await tool("serve", "battery", "--adapter", "hci2").run()
                    #expect(third.status == 75, "\(third.errors)")
                    #expect(third.errors.contains("hci2"))
                    second.send(.interrupt)
                }
            #expect(second.status == 130, "\(second.errors)")
            // Its adapter is free again.
            let next = try await tool("serve", "battery", "--adapter", "hci2", "--json").afterFirstLine { next in
                next.send(.interrupt)
            }
            #expect(next.status == 130, "\(next.errors)")
            first.send(.interrupt)
        }
        #expect(first.status == 130, "\(first.errors)")
    }

    @Test func `servers that start in one moment share one radio`() async throws {
        for round in 0..<3 {
            try await withThrowingTaskGroup { group in
                // An adapter advertises under one name.
                let names = ["hci1", "hci2", "hci3"]
                let (servers, started) = AsyncStream.makeStream(of: RunningProgram.self)
                for name in names {
                    group.addTask {
                        let served = try await tool("serve", "battery", "--name", name, "--adapter", name, "--json")
                            .afterFirstLine { started.yield($0) }
                        #expect(served.status == 130, "\(served.errors)")
                    }
                }
                let running = await servers.prefix(names.count).reduce(into: []) { $0.append($1) }
                for name in names {
                    let read = try await tool("read", name, "battery-level", "--json", "--timeout", "5").run()
                    #expect(read.status == 0, "\(round) \(name): \(read.errors)")
                }
                for server in running { server.send(.interrupt) }
                try await group.waitForAll()
            }
        }
        let folder = try FileManager.default.contentsOfDirectory(atPath: FileManager.default.temporaryDirectory.path)
        let name = URL(filePath: path).lastPathComponent
        #expect(folder.filter { $0.hasPrefix(name) } == [])
    }

    @Test func `a file that is no socket is not replaced`() async throws {
        try Data("notes".utf8).write(to: URL(filePath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let served = try await tool("serve", "battery").run()
        #expect(served.status == 69, "\(served.errors)")
        #expect(served.errors.contains("there is a file of that name"))
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "notes")
    }

    @Test(.enabled(if: geteuid() == 0)) func `a socket of another user is refused`() async throws {
        _ = try await tool("serve", "battery", "--name", "Theirs", "--json").afterFirstLine { server in
            #expect(chown(path, 1, 1) == 0)
            for command in [["read", "Theirs", "battery-level"], ["serve", "battery"]] {
                let result = try await Tool(command + ["--backend", "simulated"], radio: path).run()
                #expect(result.status != 0)
                #expect(result.errors.contains("belongs to another user"), "\(result.errors)")
            }
            server.send(.interrupt)
        }
    }
}
