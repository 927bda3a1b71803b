import Synchronization
public import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A suite whose tests start processes: only a few of them run at the same time, in lanes.
///
/// While a thousand tests run, a new process gets little processor time. In a test without a lane, `BlueZWorld` and
/// `TestProgram` refuse to start a process.
public struct StartsProcesses: SuiteTrait, TestTrait, TestScoping {
    private static let lanes = Lanes(count: 6)
    @TaskLocal private static var hasLane = false

    /// Thrown when a test without a lane starts a process.
    public struct NoLane: Error, CustomStringConvertible {
        public let description = "the suite starts a process and lacks the trait .startsProcesses"
    }

    public var isRecursive: Bool { true }

    /// The programs that these tests start, besides this package's own, and the packages of Debian and Ubuntu that
    /// install them.
    private static let programs = [(name: "dbus-daemon", package: "dbus"), (name: "setpriv", package: "util-linux")]

    /// An instruction for the missing programs, printed once; nil if none is missing.
    private static let missing: String? = {
        let folders = (getenv("PATH").map { String(cString: $0) } ?? "").split(separator: ":")
        let missing = programs.filter { program in !folders.contains { access("\($0)/\(program.name)", X_OK) == 0 } }
        guard !missing.isEmpty else { return nil }
        let names = missing.map(\.name).joined(separator: " and ")
        let packages = missing.map(\.package).joined(separator: " ")
        let message = "\(names) missing: install it with `apt install \(packages)` or Scripts/setup test"
        let line = "Tests are skipped: \(message).\n"
        _ = write(STDERR_FILENO, line, line.utf8.count)
        return message
    }()

    /// Skips the tests if they start a program that is missing.
    public func prepare(for test: Test) async throws {
        if let missing = Self.missing { try Test.cancel("\(missing)") }
    }

    @concurrent public func provideScope(
        for test: Test, testCase: Test.Case?, performing body: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await Self.lanes.withLane {
            try await Self.$hasLane.withValue(true) { try await body() }
        }
    }

    /// Throws unless the current test has a lane.
    public static func requireLane() throws {
        guard hasLane else { throw NoLane() }
    }
}

extension Trait where Self == StartsProcesses {
    /// Lets only a few of the suite's tests run at the same time.
    public static var startsProcesses: Self { StartsProcesses() }
}

/// A fixed number of lanes, given to waiting tests in the order of their arrival.
private final class Lanes: Sendable {
    private struct State {
        var free: Int
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>

    init(count: Int) { state = Mutex(State(free: count)) }

    func withLane(_ body: () async throws -> Void) async throws {
        await enter()
        defer { leave() }
        try await body()
    }

    /// Waits for a lane, even if the task is cancelled: the tests that hold the lanes end soon.
    private func enter() async {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                guard state.free > 0 else {
                    state.waiting.append(continuation)
                    return false
                }
                state.free -= 1
                return true
            }
            if isFree { continuation.resume() }
        }
    }

    private func leave() {
        let next = state.withLock { state in
            guard let next = state.waiting.first else {
                state.free += 1
                return CheckedContinuation<Void, Never>?.none
            }
            state.waiting.removeFirst()
            return next
        }
        next?.resume()
    }
}
