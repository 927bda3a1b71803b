import BLETestSupport
import BlueZTestSupport
import Foundation
import Testing

/// `Scripts/guest/watchdog`, with a script in place of the guest.
@Suite(.startsProcesses, .hangLimit) final class WatchdogTests {
    private let run = FileManager.default.temporaryDirectory.appending(path: "watchdog-\(UUID())")

    init() throws { try FileManager.default.createDirectory(at: run, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(at: run) }

    private static let beat = #"echo "beat, load $((++beats))" >>"$run/heartbeat""#

    /// Runs the watchdog until it ends.
    ///
    /// - Parameters:
    ///   - guest: what the guest does, in the directory `$run`, before it sleeps.
    ///   - limit: the time that the guest has, in seconds.
    ///   - parent: the process that has started the guest.
    ///   - leader: what makes the guest's process the leader of a group.
    private func watch(
        _ guest: String, limit: Int = 0, parent: String = "$$", leader: String = "setsid", _ times: String
    ) async throws -> String {
        let script = """
            run=$1
            export run
            \(leader) bash -c '\(guest); exec sleep 600' &
            guest=$!
            \(times) "$2" \(parent) \(limit) $guest "$run"
            wait $guest
            echo "guest $?"
            """
        let result = try await TestProgram(
            "bash", ["-c", script, "watch", run.path, Checkout.url("Scripts/guest/watchdog").path]
        ).run()
        return result.output
    }

    private func text(_ name: String) -> String? {
        try? String(contentsOf: run.appending(path: name), encoding: .utf8)
    }

    @Test func `a silent guest makes a report before it is ended`() async throws {
        let report = #"until [ -e "$run/ask" ]; do sleep 0.05; done; echo "its tasks" >"$run/report.log""#
        #expect(try await watch("\(Self.beat); \(report)", "SILENCE=1") == "guest 137\n")
        #expect(text("late") == "no sign of life for 1 s\n")
        #expect(text("report.log") == "its tasks\n")
    }

    @Test func `a guest that makes no report is ended with its last signs of life`() async throws {
        #expect(try await watch("\(Self.beat); \(Self.beat)", "SILENCE=1 ANSWER=1") == "guest 137\n")
        #expect(
            text("report.log")
                == "the guest made no report within 1 s; its last signs of life:\nbeat, load 1\nbeat, load 2\n")
    }

    @Test func `a guest that never comes up is ended`() async throws {
        #expect(try await watch(":", "BOOT=1 ANSWER=0") == "guest 137\n")
        #expect(text("late") == "the guest is not up after 1 s\n")
    }

    @Test func `a guest with signs of life is ended at its limit`() async throws {
        #expect(
            try await watch("while sleep 0.1; do \(Self.beat); done", limit: 2, "ANSWER=0") == "guest 137\n")
        #expect(text("late") == "no end after 2 s\n")
    }

    /// On a busy machine, a guest is ended before `setsid` was called.
    @Test(arguments: ["setsid", ""])
    func `a guest whose parent was killed ends with its files, also before it leads a group`(
        _ leader: String
    ) async throws {
        let killed = #"$(bash -c 'echo $$')"#
        #expect(try await watch("\(Self.beat)", parent: killed, leader: leader, "SILENCE=600") == "guest 137\n")
        #expect(!FileManager.default.fileExists(atPath: run.path))
    }
}
