import BLETestSupport
import BlueZTestSupport
import Testing

/// The table of `Docs/Simulation.md` of what is compared with the real bluetoothd.
struct RecordedPointsTests {
    /// The steps of a recorded session, and the number of messages in each.
    private static func steps(_ session: String) -> [(title: String, count: Int)] {
        var steps: [(title: String, count: Int)] = []
        for line in session.split(separator: "\n") {
            if line.hasPrefix("## ") { steps.append((String(line.dropFirst(3)), 0)) }
            if line.hasPrefix("    "), line.contains(" → ") { steps[steps.count - 1].count += 1 }
        }
        return steps
    }

    @Test(arguments: OtherPrograms.Recorded.allCases.filter(\.hasMessages))
    func `the page has the steps and the messages that are compared`(_ program: OtherPrograms.Recorded) throws {
        let (older, later) = (Self.steps(try program.session(66)), Self.steps(try program.session(82)))
        #expect(older.map(\.title) == later.map(\.title))
        let rows = zip(older, later).map { "| \($0.title) | \($0.count) | \($1.count) |" }
        let sum = "| all | \(older.map(\.count).reduce(0, +)) | \(later.map(\.count).reduce(0, +)) |"
        let table = (["| step | messages, 5.66 | 5.82 |", "|---|---|---|"] + rows + [sum]).joined(separator: "\n")
        let page = try Checkout.text("Docs/Simulation.md")
        #expect(page.contains(table), "Docs/Simulation.md should have:\n\(table)")
    }
}
