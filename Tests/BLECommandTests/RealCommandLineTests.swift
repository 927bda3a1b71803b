import Foundation
import Testing

/// The command line tool on the real bluetoothd; inside `Scripts/with-bluez` only.
@Suite(
    .enabled(if: ProcessInfo.processInfo.environment["BLE_REAL_BLUEZ"] == "1"), .serialized, .timeLimit(.minutes(3)))
struct RealCommandLineTests {
    @Test func `heart-rate prints the measurements that the strap sent`() async throws {
        let result = try await Tool.run("heart-rate", "--json", "--count", "5")
        #expect(result.status == 0)
        let beats = try result.objects.compactMap { $0["beatsPerMinute"] as? Int }
        // The strap counts up, each second one.
        let first = try #require(beats.first)
        #expect(beats == Array(first..<first + 5))
    }

    @Test func `the death of bluetoothd ends heart-rate with 20`() async throws {
        let result = try await Tool(["heart-rate", "--json"]).run { _, _ in
            #expect(system("/run/bluez/kill") == 0)
        }
        #expect(result.status == 20)
        #expect(system("/run/bluez/start") == 0)
        // (the new one may have taken the link over; see Docs/Testing.md)
        #expect(
            system("until [ $(/run/bluez/peerctl connections) = 0 ]; do /run/bluez/peerctl disconnect || true; done")
                == 0)
    }

    @Test func `an interrupt leaves no link`() async throws {
        let result = try await Tool(["heart-rate", "--json"]).run { process, _ in
            kill(process.processIdentifier, SIGINT)
        }
        #expect(result.status == 130)
        #expect(system("[ $(/run/bluez/peerctl connections) = 0 ]") == 0)
    }
}
