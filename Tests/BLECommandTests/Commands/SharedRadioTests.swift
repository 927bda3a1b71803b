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
}
