internal import Foundation
internal import Synchronization

/// What the running test in the guest has done last.
final class GuestProgress: Sendable {
    static let shared = GuestProgress()

    /// The time without progress after which a test fails. No step of any test takes half as long.
    static let limit = Duration.seconds(60)
    /// The time that a cancelled test has to end.
    private static let grace = Duration.seconds(30)
    private static let capacity = 20

    private struct State {
        /// The test that runs, and what cancels it.
        var test: (name: String, cancel: @Sendable () -> Void)?
        /// When it last made progress.
        var last = ContinuousClock.now
        /// Its last steps.
        var steps: [String] = []
        var isStuck = false
    }

    private let state = Mutex(State())
    private let began = ContinuousClock.now

    private init() {
        // A thread of its own: it must run when no thread of the concurrency pool does.
        Thread.detachNewThread { self.watch() }
    }

    /// Records a step.
    func note(_ step: String) {
        let now = ContinuousClock.now
        let time = String(format: "%.1f", (now - began) / .seconds(1))
        state.withLock { state in
            state.last = now
            state.steps.append("\(time) s: \(step)")
            if state.steps.count > Self.capacity { state.steps.removeFirst() }
        }
    }

    /// Begins to watch a test.
    func begin(_ test: String, cancel: @escaping @Sendable () -> Void) {
        state.withLock { state in
            (state.test, state.last, state.steps, state.isStuck) = ((test, cancel), .now, [], false)
        }
    }

    /// Ends it. Returns its last steps if it was stuck.
    func end() -> [String]? {
        state.withLock { state in
            state.test = nil
            return state.isStuck ? state.steps : nil
        }
    }

    private func watch() {
        while true {
            Thread.sleep(forTimeInterval: 1)
            let stuck = state.withLock { state -> (name: String, cancel: @Sendable () -> Void, steps: [String])? in
                guard let test = state.test, !state.isStuck, .now - state.last > Self.limit else { return nil }
                state.isStuck = true
                return (test.name, test.cancel, state.steps)
            }
            guard let stuck else { continue }
            say("\(stuck.name): no progress for \(Self.limit); its last steps:\n" + stuck.steps.joined(separator: "\n"))
            _ = system("exec timeout -k 5 60 /run/bluez/report >&2")
            stuck.cancel()
            Thread.sleep(forTimeInterval: Self.grace / .seconds(1))
            if state.withLock({ $0.isStuck && $0.test?.name == stuck.name }) {
                say("\(stuck.name): it was cancelled, and has not ended within \(Self.grace)")
                _exit(70)
            }
        }
    }

    private func say(_ text: String) { FileHandle.standardError.write(Data("\(text)\n".utf8)) }
}
