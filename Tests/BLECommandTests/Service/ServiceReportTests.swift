import Testing

@testable import BLECommand

struct ServiceReportTests {
    /// Reports until a time, and returns the messages with their times.
    private func messages(
        _ report: inout ServiceReport, from start: Duration = .zero, until end: Duration,
        status: (Duration) -> String = { _ in "fine" }, isTaken: (Duration) -> Bool = { _ in true }
    ) -> [(Duration, String)] {
        var (now, messages) = (start, [(Duration, String)]())
        while now <= end {
            let pause = report.report(status(now), at: now) { message in
                messages.append((now, message))
                return isTaken(now)
            }
            #expect(pause > .zero)
            now += pause
        }
        return messages
    }

    @Test func `without a watchdog, what does not change is told once`() {
        var report = ServiceReport(watchdogInterval: nil)
        let messages = messages(&report, until: .seconds(3600))
        #expect(messages.map(\.1) == ["READY=1\nSTATUS=fine"])
    }

    @Test(arguments: [Duration.milliseconds(500), .seconds(3), .seconds(7), .seconds(30)])
    func `signs of life come exactly at the interval`(interval: Duration) {
        var report = ServiceReport(watchdogInterval: interval)
        let messages = messages(&report, until: interval * 100)
        #expect(messages.first?.1 == "READY=1\nSTATUS=fine\nWATCHDOG=1")
        #expect(messages.map(\.0) == (0...100).map { interval * $0 })
        #expect(messages.dropFirst().allSatisfy { $0.1 == "WATCHDOG=1" })
    }

    @Test func `a status that changes all the time is told every five seconds`() {
        var report = ServiceReport(watchdogInterval: .milliseconds(500))
        let messages = messages(&report, until: .seconds(60)) { "\($0)" }
        let times = messages.filter { $0.1.contains("STATUS=") }.map(\.0)
        #expect(times == (0...12).map { .seconds(5) * $0 })
    }

    @Test func `what was not taken is sent again, several times in the time that the service manager waits`() {
        var report = ServiceReport(watchdogInterval: .seconds(8))
        let refused = messages(&report, until: .seconds(16), isTaken: { _ in false })
        #expect(refused.map(\.0) == (0...8).map { .seconds(2) * $0 })
        #expect(refused.allSatisfy { $0.1 == "READY=1\nSTATUS=fine\nWATCHDOG=1" })
        let taken = messages(&report, from: .seconds(18), until: .seconds(26))
        #expect(taken.map(\.1) == ["READY=1\nSTATUS=fine\nWATCHDOG=1", "WATCHDOG=1"])
    }
}
