internal import BLE
internal import BLEBlueZ
internal import BLESimulation
internal import DBus
internal import Logging
internal import Loop
internal import Synchronization

/// A backend on a hostile bus, with a central and its users above, from its start until nothing of it is left.
final class HostileSession {
    private let clock = ManualClock()
    private let bus: HostileBus
    private let daemon: HostileDaemon
    private var central: Central?
    private var backend: BlueZCentral?
    private var user: CentralUser?
    /// The operations of its users, counted at its end.
    private(set) var counts = (ended: 0, values: 0, codes: [String: Int]())

    /// A result from another thread.
    private final class Box<Value: Sendable>: Sendable {
        private let content = Mutex<Value?>(nil)
        var value: Value? { content.withLock { $0 } }
        func put(_ value: Value) { content.withLock { $0 = value } }
    }

    /// - Parameter trace: receives a line for each message.
    init(_ bus: HostileBus, _ dice: Dice, trace: @escaping (() -> String) -> Void) {
        self.bus = bus
        daemon = HostileDaemon(bus, dice)
        daemon.trace = trace
    }

    /// Starts a central. Returns a finding, if there is one.
    func start(_ dice: inout Dice) -> String? {
        var pairing = PairingBehavior.justWorks
        if dice.permille(500) { pairing = .prompting(HastyPairing(clock: clock)) }
        pairing.acceptsPeripheralRequests = dice.permille(300)
        let configuration = Central.Configuration(
            clock: clock, logger: Logger(label: "fuzz") { _ in SwiftLogNoOpLogHandler() }, pairing: pairing)
        let backend = BlueZCentral.bluez(bus: bus.address)
        let made = Box<Result<Central, BLEError>>()
        Task {
            do throws(BLEError) {
                made.put(.success(try await Central(backend: backend, configuration: configuration)))
            } catch {
                made.put(.failure(error))
            }
        }
        guard bus.pump(until: { made.value != nil }) else { return "the central does not start" }
        guard case .success(let central)? = made.value else { return "the central does not start: \(made.value!)" }
        (self.central, self.backend) = (central, backend)
        user = CentralUser(central, on: backend.taskExecutor)
        daemon.madness = dice.pick([0, 30, 150, 400])
        return nil
    }

    /// Plays one input. Returns a finding, if there is one.
    func play(_ dice: Dice) -> String? {
        var dice = dice
        daemon.dice = dice
        if let user {
            for _ in 0..<dice.below(3) where user.openCount < 30 { user.act(&dice) }
            if dice.permille(40) { user.cancel(dice.below(100)) }
        }
        var input = HostileInput(daemon, dice)
        input.send()
        if dice.permille(150) {
            clock.advance(
                by: dice.permille(50)
                    ? .seconds(31) : dice.pick([.milliseconds(10), .milliseconds(100), .seconds(1), .seconds(3)]))
        }
        if daemon.owner == nil, dice.permille(300) { daemon.changeOwner(toNobody: false) }
        if bus.client == nil { reconnect() }
        guard daemon.awaitReception() else { return "the client does not read" }
        bus.turn()
        return daemon.finding ?? user?.finding
    }

    /// Waits until the backend has reconnected, which takes it some time.
    private func reconnect() {
        if let client = bus.client { bus.drop(client) }
        bus.pump(atMost: 2) {
            clock.advance(by: .seconds(1))
            return bus.client != nil
        }
    }

    // MARK: What always holds

    /// Examines the backend within its isolation.
    func examine() -> String? {
        guard let backend else { return nil }
        let found = Box<String>()
        backend.stack.loop.perform { found.put(backend.assumeIsolated { Self.contradiction(in: $0) } ?? "") }
        guard bus.pump(until: { found.value != nil }) else { return "the backend hangs" }
        return found.value.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The pending work of a backend that should have been released.
    private func remains(of backend: BlueZCentral) -> String {
        let found = Box<String>()
        backend.stack.loop.perform {
            found.put(
                backend.assumeIsolated {
                    "reads \($0.reads.counts), waits for \($0.waits.paths), \($0.calls.count) calls, "
                        + "\($0.agent?.promptCount ?? 0) prompts, \($0.sockets.peripherals.count) sockets, "
                        + "passive scan \($0.passive.isOn), own links \($0.links.all)"
                }
                    + backend.stack.assumeIsolated {
                        ", running \($0.isRunning), session \($0.session == nil ? "none" : "there"), "
                            + "waits for \($0.waits.paths)"
                    })
        }
        bus.pump(atMost: 5) { found.value != nil }
        return found.value ?? "it hangs"
    }

    private static func contradiction(in backend: isolated BlueZCentral) -> String? {
        let tree = backend.objects
        if tree.devices[HostileWorld.foreignPath] != nil { return "the tree has a foreigner's object" }
        let waiting = backend.uses.deliveredPaths
        let delivered = backend.stack.assumeIsolated { stack in stack.withDeliveries { $0.paths } }
        if waiting != delivered { return "deliveries \(delivered.symmetricDifference(waiting)) are nobody's" }
        for path in tree.devices.paths(where: { $0.linkEnd != nil && !$0.isConnected }) {
            return "a reason is kept for the link of \(path), which has ended"
        }
        for (path, count) in backend.reads.counts where count <= 0 { return "\(count) reads of \(path)" }
        let places = HostileWorld.inventedPaths.count + HostileWorld.devices.count + 1
        if tree.devices.count > places * 2 { return "\(tree.devices.count) devices, of which \(places) were shown" }
        return nil
    }

    // MARK: The end

    /// Shuts the central down, and waits until every operation has ended. Returns the operations that have not.
    func end() -> String? {
        daemon.madness = 0
        if daemon.owner == nil { daemon.changeOwner(toNobody: false) }
        guard let central, let user else { return nil }
        let isDown = Box<Bool>()
        Task {
            await central.shutDown()
            isDown.put(true)
        }
        let hasEnded = bus.pump {
            daemon.release()
            clock.advance(by: .seconds(1))
            return isDown.value == true && user.openCount == 0
        }
        guard hasEnded else {
            return isDown.value == true ? "these do not end: \(user.openNames)" : "the central does not shut down"
        }
        counts = user.counts
        defer { self.user = nil }
        return user.finding
    }

    /// Waits until the central and its backend are released.
    func vanish() -> String? {
        weak let central = central
        weak let backend = backend
        self.central = nil
        self.backend = nil
        let isGone = bus.pump {
            clock.advance(by: .seconds(1))
            return central == nil && backend == nil
        }
        guard !isGone, let backend else { return isGone ? nil : "something keeps the central" }
        return "something keeps \(central == nil ? "the backend" : "the central"): \(remains(of: backend))"
    }
}
