import BLE
import BLEBlueZ
import BLEProfiles
import BLETestSupport
import BLEBackendTesting
import Foundation
import Logging
import Synchronization
import BLEFakeBlueZ
import BlueZTestSupport
import Testing

private let soakRounds = ProcessInfo.processInfo.environment["BLE_SOAK_ROUNDS"].flatMap { Int($0) }

/// Rounds of faults on the real bluetoothd under a maintained link with two subscribers and a scan. `Scripts/soak` runs
/// it inside `Scripts/with-bluez` and writes down its output.
@Suite(.enabled(if: Guest.isHere && soakRounds != nil), .serialized, .timeLimit(.minutes(60)))
struct RealSoakTests {
    private enum Fault: String, CaseIterable {
        case disconnect, linkLoss, powerCycle, unplugging, terminate, kill
        /// A second adapter comes and goes, which must disturb nothing.
        case secondAdapter
    }

    private static let characteristic = EchoStrap.output

    @Test func `it always recovers, and nothing that is sent while the link is up is missed`() async throws {
        let peer = RealPeer()
        try await peer.reset()
        var logger = Logger(label: "soak")
        if let level = ProcessInfo.processInfo.environment["BLE_LOG"] {
            logger.logLevel = .init(rawValue: level) ?? .info
        }
        let central = try await peer.makeCentral(Central.Configuration(logger: logger))
        let strap = try await central.find(EchoStrap.id)
        try await strap.setConnectionPolicy(
            .maintained(backoff: Backoff(initial: .milliseconds(200), factor: 2, maximum: .seconds(2))))
        let logs = [NotificationLog(), NotificationLog()]
        var tasks: [Task<Void, any Error>] = []
        for log in logs {
            let stream = try await strap.notifications(Self.characteristic, overflow: .fail(capacity: 10_000))
            tasks.append(Task { try await log.record(stream.events) })
        }
        tasks.append(Task { for try await _ in central.discoveryEvents(duplicates: true) {} })
        let host = try await PeripheralHost(configuration: .init(logger: logger))
        let watch = ServedWatch(await host.events())
        let serving = Task {
            do {
                try await host.serve(Self.served)
            } catch {
                watch.end(error)
            }
        }
        // A fault before that would end it, as it may.
        try await watch.untilUp()
        var random = SystemRandomNumberGenerator()
        var sent: [[UInt8]] = []
        var faults: [Fault: (count: Int, longest: Duration)] = [:]
        var before: Resources?
        for round in 1...soakRounds! {
            try await peer.until(subscribers: 1)
            for _ in 0..<Int.random(in: 1...20, using: &random) {
                let value = withUnsafeBytes(of: UInt32(sent.count).littleEndian) { [UInt8]($0) }
                try await peer.notify(value)
                sent.append(value)
            }
            for log in logs {
                try await log.until(valueCount: sent.count)
                try #require(log.values == sent, "in round \(round)")
            }
            if round == 6 {
                try await readServed()
                before = try await Resources.settled()
            }
            if round == soakRounds! { break }
            let fault = Fault.allCases.randomElement(using: &random)!
            let gaps = logs.map(\.gapCount)
            let start = ContinuousClock.now
            try await cause(fault, peer)
            // The link of the values has ended for both subscribers before the next one counts.
            for (log, gaps) in zip(logs, gaps) {
                if fault == .secondAdapter {
                    #expect(log.gapCount == gaps)
                } else {
                    try await log.until(gapCount: gaps + 1)
                }
            }
            // A bluetoothd that starts soon enough takes over the old link, so the peripheral does not notice.
            for try await state in await strap.connectionStates() where state == .connected { break }
            try await peer.until(subscribers: 1)
            // The served and advertised services of this machine are back, too.
            try await watch.untilUp()
            let duration = ContinuousClock.now - start
            let known = faults[fault] ?? (0, .zero)
            faults[fault] = (known.count + 1, max(known.longest, duration))
        }
        try await readServed()
        let after = try await Resources.settled()
        for task in tasks { task.cancel() }
        for task in tasks { _ = await task.result }
        try await peer.until(subscribers: 0)
        while try await central.adapters().contains(where: \.isDiscovering) {}
        serving.cancel()
        _ = await serving.result
        await host.shutDown()
        await central.shutDown()
        print("soak: served again \(watch.returns) times, advertised again \(watch.starts - 1) times")
        let version = Guest.bluetoothdVersion.map { "5.\($0)" } ?? ""
        print(
            "soak: bluetoothd \(version), \(soakRounds!) rounds, \(sent.count) values to each of 2 subscribers, none missed"
        )
        for (fault, seen) in faults.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            print("soak: \(seen.count) × \(fault.rawValue), back after at most \(seen.longest.formatted)")
        }
        guard let before else { return }
        print("soak: before \(before)")
        print("soak: after  \(after)")
        #expect(after.descriptors <= before.descriptors)
        #expect(after.threads <= before.threads)
        #expect(after.workers <= Resources.maximumWorkers)
        #expect(after.matchRules == before.matchRules)
        #expect(after.memory <= before.memory + 4096, "KiB of memory")
    }

    private static let value = Characteristic<[UInt8]>(BluetoothUUID(0xFFE1))
    private static let served = PeripheralDefinition(
        advertisement: Advertisement(serviceUUIDs: [BluetoothUUID(0xFFE0)]),
        services: [
            ServiceDefinition(
                BluetoothUUID(0xFFE0),
                characteristics: [CharacteristicDefinition(value.key.characteristic, .read, value: [1, 2, 3])])
        ])

    /// Whether the services of this machine are registered and advertised.
    private final class ServedWatch: Sendable {
        private let state = Mutex((isServed: true, isAdvertised: false, returns: 0, starts: 0))
        private let failure = Mutex<(any Error)?>(nil)

        init(_ events: BoundedStream<PeripheralHostEvent>) {
            Task { [weak self] in
                for try await event in events { self?.take(event) }
            }
        }

        private func take(_ event: PeripheralHostEvent) {
            state.withLock { state in
                switch event {
                case .servicesLost: state.isServed = false
                case .servicesRestored: (state.isServed, state.returns) = (true, state.returns + 1)
                case .advertisingStarted: (state.isAdvertised, state.starts) = (true, state.starts + 1)
                case .advertisingEnded: state.isAdvertised = false
                default: break
                }
            }
        }

        /// Records that serving has ended.
        func end(_ error: any Error) { failure.withLock { $0 = error } }

        /// Returns when the services are up. Throws the error with which serving has ended.
        func untilUp() async throws {
            try await Guest.until {
                if let error = failure.withLock(\.self) { throw error }
                return isUp
            }
        }

        private var isUp: Bool { state.withLock { $0.isServed && $0.isAdvertised } }
        var returns: Int { state.withLock { $0.returns } }
        var starts: Int { state.withLock { $0.starts } }
    }

    /// A central of another stack reads a served value.
    private func readServed() async throws {
        let central = try await Central(backend: BumbleCentral(1))
        let remote = try await central.first(matching: .service(BluetoothUUID(0xFFE0)), timeout: .seconds(60))
            .peripheral
        let value = try await remote.read(Self.value)
        #expect(value == [1, 2, 3])
        await central.shutDown()
    }

    private func cause(_ fault: Fault, _ peer: RealPeer) async throws {
        switch fault {
        case .disconnect: try await peer.disconnect()
        case .linkLoss: try await peer.loseLink()
        case .powerCycle:
            try await peer.setPowered(false)
            try await peer.setPowered(true)
        case .unplugging:
            try await peer.unplug()
            try await peer.plug()
        case .secondAdapter:
            try await peer.tell("second on")
            try await peer.run(
                "until busctl get-property org.bluez /org/bluez/hci1 org.bluez.Adapter1 Powered | grep -q true; do sleep 0.1; done"
            )
            try await peer.tell("second off")
        case .terminate:
            try await peer.run("/run/bluez/terminate")
            try await peer.run("/run/bluez/start")
        case .kill:
            try await peer.run("/run/bluez/kill")
            try await peer.run("/run/bluez/start")
        }
    }

    /// The resources of this process.
    private struct Resources: CustomStringConvertible {
        /// Resident, in KiB.
        let memory: Int
        let descriptors: Int
        /// Without Dispatch's workers.
        let threads: Int
        /// Dispatch's workers, which live for some seconds after their last work. Each command to the peer takes one.
        let workers: Int
        static let maximumWorkers = 32
        /// On the whole bus.
        let matchRules: Int

        /// Returns the resources once nothing is being closed: a socket is closed a moment after its user has ended.
        static func settled() async throws -> Resources {
            var last: Resources?
            try await Guest.until(pause: .seconds(1)) {
                let (former, now) = (last, try await Resources())
                last = now
                return former.map { ($0.descriptors, $0.threads) == (now.descriptors, now.threads) } ?? false
            }
            return try #require(last)
        }

        private init() async throws {
            let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
            func number(_ name: String) -> Int {
                status.split(separator: "\n").first { $0.hasPrefix(name) }?
                    .split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) } ?? 0
            }
            memory = number("VmRSS:")
            let tasks = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")
            // A thread may end meanwhile.
            let names = tasks.compactMap { try? String(contentsOfFile: "/proc/self/task/\($0)/comm", encoding: .utf8) }
            workers = names.count { $0.hasPrefix("DispatchWorker") }
            threads = names.count - workers
            descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
            matchRules = try await RealPeer().count(
                "busctl call org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus.Debug.Stats GetAllMatchRules"
                    + " | grep -o org.bluez | wc -l")
        }

        var description: String {
            """
            \(memory) KiB, \(descriptors) descriptors, \(threads) threads and \(workers) workers, \
            \(matchRules) match rules about org.bluez
            """
        }
    }
}

extension Duration {
    fileprivate var formatted: String {
        String(format: "%.1f s", Double(components.seconds) + Double(components.attoseconds) / 1e18)
    }
}
