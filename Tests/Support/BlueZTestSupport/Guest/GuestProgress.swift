internal import Foundation
internal import Synchronization

/// The last steps of the running test in the guest.
final class GuestProgress: Sendable {
    static let shared = GuestProgress()

    /// The time without progress after which a test fails, while no command of the test is being carried out.
    static let limit = Duration.seconds(60)
    /// The same while a command is being carried out, each of which has a shorter limit of its own (``Guest``), and
    /// while commands only repeat earlier questions and get the same answers.
    private static let commandLimit = Duration.seconds(180)
    /// The time that a cancelled test has to end.
    private static let grace = Duration.seconds(30)
    private static let capacity = 20

    private struct State {
        /// The test that runs, and a closure that cancels it.
        var test: (name: String, number: Int, cancel: @Sendable () -> Void)?
        /// The number of the last test.
        var number = 0
        /// The commands that are being carried out.
        var commands = 0
        /// The times of its last step, and of its last step that differed from earlier ones.
        var last = ContinuousClock.now, lastNew = ContinuousClock.now
        /// Its last steps, and their times.
        var steps: [(text: String, time: String)] = []
        var isStuck = false
    }

    private let state = Mutex(State())
    private let began = ContinuousClock.now

    private init() {
        // On a thread of its own, because it must run even when no thread of the concurrency pool does.
        Thread.detachNewThread { self.watch() }
    }

    /// Records that a command is being carried out.
    func begin(command: String) { note("\(command) …", commands: 1) }

    /// Records the end of a command.
    func end(command: String, _ answer: String) { note("\(command): \(answer)", commands: -1) }

    private func note(_ step: String, commands: Int) {
        let now = ContinuousClock.now
        let time = String(format: "%.1f", (now - began) / .seconds(1))
        state.withLock { state in
            state.last = now
            state.commands += commands
            if !state.steps.contains(where: { $0.text == step }) { state.lastNew = now }
            state.steps.append((step, time))
            if state.steps.count > Self.capacity { state.steps.removeFirst() }
        }
    }

    /// Begins to watch a test.
    func begin(_ test: String, cancel: @escaping @Sendable () -> Void) {
        state.withLock { state in
            state.number += 1
            (state.test, state.steps, state.isStuck) = ((test, state.number, cancel), [], false)
            (state.last, state.lastNew) = (.now, .now)
        }
    }

    /// Stops watching the test. Returns its last steps if it was stuck.
    func end() -> [String]? {
        state.withLock { state in
            state.test = nil
            return state.isStuck ? Self.words(state.steps) : nil
        }
    }

    private static func words(_ steps: [(text: String, time: String)]) -> [String] {
        steps.map { "\($0.time) s: \($0.text)" }
    }

    private func watch() {
        while true {
            Thread.sleep(forTimeInterval: 1)
            let stuck = state.withLock { state -> (name: String, number: Int, steps: [String])? in
                let limit = state.commands > 0 ? Self.commandLimit : Self.limit
                let isStuck = .now - state.last > limit || .now - state.lastNew > Self.commandLimit
                guard let test = state.test, !state.isStuck, isStuck else { return nil }
                state.isStuck = true
                return (test.name, test.number, Self.words(state.steps))
            }
            guard let stuck else { continue }
            say("\(stuck.name): no progress; its last steps:\n" + stuck.steps.joined(separator: "\n"))
            _ = system("exec timeout -k 5 90 /run/bluez/report >&2")
            // Only while the test runs: `end()` waits for the lock.
            state.withLock { state in
                if let test = state.test, test.number == stuck.number { test.cancel() }
            }
            Thread.sleep(forTimeInterval: Self.grace / .seconds(1))
            if state.withLock({ $0.test?.number == stuck.number }) {
                say("\(stuck.name): it was cancelled, and has not ended within \(Self.grace)")
                _exit(70)
            }
        }
    }

    private func say(_ text: String) { FileHandle.standardError.write(Data("\(text)\n".utf8)) }
}
