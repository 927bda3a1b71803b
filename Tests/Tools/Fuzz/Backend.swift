// Built and started by Scripts/fuzz, together with the sources of DBus, BLE, BLEBlueZ and BLESimulation.
internal import CGLib
internal import Glibc

/// A hostile bus against the whole backend: a central scans, connects, reads and subscribes over a bluetoothd that
/// sends anything, and over a bus with other programs that send forged messages.
///
/// The input is a number, which determines all messages. This program is the other end of the backend's connection, so
/// every part of the backend runs: the socket, the reader, the writer, the tree, the calls and their retries, and the
/// central above. A finding is a trap, a value of another characteristic, an accepted message of another program, an
/// operation that does not end, anything that is left after ``Central/shutDown()``, and memory that grows.
@main
struct Backend {
    static func main() { BackendRun(FuzzRun(CommandLine.arguments)).play() }
}

/// Sessions one after the other.
private final class BackendRun {
    /// The number of inputs for one central.
    private static let sessionLength = 500

    private let run: FuzzRun
    private let bus = HostileBus("ble-fuzz-\(getpid())")
    private var session: HostileSession?
    private var totals = (ended: 0, values: 0, codes: [String: Int]())

    init(_ run: FuzzRun) {
        self.run = run
        // A critical message of GLib reports a wrong call of GLib, which is then ignored.
        g_log_set_writer_func(
            { level, fields, count, _ in
                guard level.rawValue & G_LOG_LEVEL_CRITICAL.rawValue != 0 else { return G_LOG_WRITER_HANDLED }
                _ = g_log_writer_standard_streams(level, fields, count, nil)
                fatalError("GLib was called wrongly")
            }, nil, nil)
    }

    func play() {
        // One input is played after the earlier ones, on which it depends.
        for number in run.numbers(Self.sessionLength) {
            run.begin(number)
            var dice = Dice(seed: run.seed, input: number)
            if number % Self.sessionLength == 0 {
                finish(number)
                start(number, &dice)
            }
            guard let session else { continue }
            let finding = session.play(dice)
            run.check(number % 50 == 0 ? finding ?? session.examine() : finding, number, "an input")
        }
        finish(run.last)
        run.end("\(totals.ended) operations ended, \(totals.values) values arrived")
        run.trace(totals.codes.sorted { $0.value > $1.value }.map { "\($0.key) \($0.value)" }.joined(separator: ", "))
    }

    private func start(_ number: Int, _ dice: inout Dice) {
        let started = HostileSession(bus, dice) { [run] in run.trace($0()) }
        session = started
        run.check(started.start(&dice), number, "the start")
    }

    private func finish(_ number: Int) {
        guard let session else { return }
        run.check(session.examine(), number, "a look")
        run.check(session.end(), number, "the end")
        totals.ended += session.counts.ended
        totals.values += session.counts.values
        totals.codes.merge(session.counts.codes, uniquingKeysWith: +)
        self.session = nil
        run.check(session.vanish(), number, "the vanishing")
    }
}
