#if DeviceCommands
    import BLETestSupport
    import Foundation
    import Testing

    /// The output of the demonstrations.
    @Suite(.startsProcesses, .hangLimit)
    struct DemoCommandTests {
        @Test func `the lock is found, set up, opened, lost and locked`() async throws {
            let result = try await Tool(["--json", "demo", "lock"], time: .virtual).run()
            #expect(result.status == 0)
            // A step that takes a second on a slow machine prints a message.
            #expect(!result.errors.contains("ble:"))
            let steps = try result.objects
            for step in steps { #expect(Set(step.keys) == ["event", "value"]) }
            #expect(
                steps.compactMap { $0["event"] as? String } == [
                    "found", "connected", "name", "name", "autoLock", "network", "network", "network", "network",
                    "joined",
                    "paired", "unlocked", "state", "guestRefused", "guestUnlocked", "linkLost", "connectedAgain",
                    "state",
                    "disconnected",
                ])
            func values(_ event: String) -> [String?] {
                steps.filter { $0["event"] as? String == event }.map { $0["value"] as? String }
            }
            #expect(values("found") == ["010203040506"])
            #expect(values("name") == ["Simulated Lock", "Front door"])
            #expect(values("autoLock") == ["30"])
            #expect(values("network") == ["Home", "Office", "Café", "Attic"])
            #expect(values("state") == ["unlocked", "locked"])
            #expect(values("linkLost") == ["timeout"])
        }

        @Test func `for people there is a line for each step`() async throws {
            let result = try await Tool(["demo", "lock"], time: .virtual).run()
            #expect(result.status == 0)
            let lines = result.output.split(separator: "\n")
            #expect(lines.count == 19)
            #expect(lines.first == "found           found Simulated Lock, serial number 010203040506")
            #expect(lines.last?.hasSuffix("disconnected") == true)
        }
    }
#endif
