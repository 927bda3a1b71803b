// Built and started by Scripts/fuzz, together with the sources of BLE, BLESimulation and BLEFeatures.
internal import BLE
internal import BLEFeatures
internal import BLESimulation
internal import Logging
internal import Synchronization

/// A hostile peripheral against the sessions of messages: requests, plain and encrypted in both modes, key exchanges,
/// pairing, and a control point, on a simulated radio in virtual time.
///
/// The input is a number, which determines all packets, apart from the order of tasks. A finding is a trap, a request
/// that does not end, an accepted encrypted reply or notification that the device has not made, one that was accepted
/// twice, a reply in `bound` mode to another request, anything that is left after the session, and memory that grows.
@main
struct PeripheralFuzz {
    /// The number of inputs for one session.
    private static let sessionLength = 200

    static func main() async {
        let run = FuzzRun(CommandLine.arguments)
        var session: HostileLink?
        var totals = (ended: 0, replies: 0, codes: [String: Int]())
        for number in run.numbers(sessionLength) {
            run.begin(number)
            var dice = Dice(seed: run.seed, input: number)
            if number % sessionLength == 0 || session?.isOver == true {
                if let session {
                    run.check(await session.end(&totals), number, "the end")
                    run.check(await session.vanish(), number, "the vanishing")
                }
                session = HostileLink(&dice, isTraced: run.isVerbose)
                run.check(await session?.start(), number, "the start")
            }
            run.check(await session?.play(dice), number, "an input")
        }
        if let session { run.check(await session.end(&totals), run.last, "the end") }
        run.end("\(totals.ended) operations ended, \(totals.replies) replies were taken")
        run.trace(totals.codes.sorted { $0.value > $1.value }.map { "\($0.key) \($0.value)" }.joined(separator: ", "))
    }
}

/// One session on a link to a hostile device.
private final class HostileLink {
    private let clock = ManualClock()
    private let radio: SimulatedRadio
    private let device: HostileDevice
    private let pairingKey: MessageKey
    private let reassembles: Bool
    private var central: Central?
    private var grip: SimulatedPeripheral?
    private var session: MessageSession?
    private var user: SessionUser?

    init(_ dice: inout Dice, isTraced: Bool) {
        radio = SimulatedRadio(clock: clock)
        let key = MessageKey((0..<32).map { _ in dice.byte() })!
        pairingKey = key
        reassembles = dice.permille(300)
        device = HostileDevice(dice.permille(600) ? .bound : .firmware, key: key, isFalse: dice.permille(250), dice) {
            if isTraced { print("   \($0())") }
        }
    }

    /// Lets time pass until a condition holds. Returns false if it does not hold after a long time.
    private func pass(_ step: Duration = .milliseconds(100), until isDone: () async -> Bool) async -> Bool {
        for turn in 0..<200_000 {
            if await isDone() { return true }
            clock.advance(by: step)
            // Tasks may need several turns for a step.
            for _ in 0..<(turn > 1000 ? 50 : 5) { await Task.yield() }
        }
        return false
    }

    private final class Box<Value: Sendable>: Sendable {
        private let content = Mutex<Value?>(nil)
        var value: Value? { content.withLock { $0 } }
        func put(_ value: Value) { content.withLock { $0 = value } }
    }

    /// The session is over, by itself or with its link.
    var isOver: Bool { isClosed.value == true }
    private let isClosed = Box<Bool>()

    func start() async -> String? {
        let configuration = Central.Configuration(
            clock: clock, logger: Logger(label: "fuzz") { _ in SwiftLogNoOpLogHandler() })
        guard let central = try? await Central(backend: .simulated(radio), configuration: configuration) else {
            return "the central does not start"
        }
        self.central = central
        let grip = await radio.add(device.definition)
        self.grip = grip
        device.use(grip)
        let found = Box<Peripheral>()
        let search = Task {
            for try await discovery in central.discoveries() {
                found.put(discovery.peripheral)
                return
            }
        }
        guard await pass(until: { found.value != nil }), let peripheral = found.value else { return "nothing is found" }
        _ = await search.result
        let session = MessageSession(
            peripheral,
            configuration: TransactionConfiguration(request: HostileDevice.request, reply: HostileDevice.reply),
            reassembles: reassembles,
            encryption: MessageEncryption(
                mode: device.mode, derivation: HostileDevice.derivation, command: HostileDevice.exchange),
            keys: MemoryPairingKeys(pairingKey))
        self.session = session
        let started = Box<Bool>()
        Task {
            try? await session.start()
            started.put(true)
        }
        guard await pass(until: { started.value != nil }) else { return "the session does not start" }
        let user = SessionUser(session, device)
        user.listen()
        self.user = user
        Task { [isClosed] in
            _ = try? await session.untilClosed()
            isClosed.put(true)
        }
        return nil
    }

    func play(_ dice: Dice) async -> String? {
        var dice = dice
        device.roll(dice)
        guard let user, let grip else { return nil }
        for _ in 0..<dice.below(3) where user.openCount < 12 { user.act(&dice) }
        if dice.permille(30) { user.cancel(dice.below(100)) }
        for _ in 0..<dice.below(3) { await device.act() }
        if dice.permille(4) { await grip.dropLink() }
        for _ in 0..<4 { await Task.yield() }
        if dice.permille(600) {
            clock.advance(by: dice.pick([.milliseconds(10), .milliseconds(50), .milliseconds(300), .seconds(1)]))
        }
        if dice.permille(15) { clock.advance(by: .seconds(12)) }
        return user.finding
    }

    /// Closes the session, and waits until every operation has ended.
    func end(_ totals: inout (ended: Int, replies: Int, codes: [String: Int])) async -> String? {
        guard let session, let user, let central else { return nil }
        let isDown = Box<Bool>()
        Task {
            await session.close()
            await central.shutDown()
            isDown.put(true)
        }
        guard await pass(until: { isDown.value == true && user.openCount == 0 && isOver }) else {
            return isDown.value == true ? "these do not end: \(user.openNames)" : "the session does not close"
        }
        totals.ended += user.counts.ended
        totals.replies += user.counts.replies
        totals.codes.merge(user.counts.codes, uniquingKeysWith: +)
        return user.finding
    }

    /// Waits until the session and the central are released.
    func vanish() async -> String? {
        weak let session = session
        weak let central = central
        (self.session, self.central, self.user) = (nil, nil, nil)
        let isGone = await pass(until: { session == nil && central == nil })
        return isGone ? nil : "something keeps \(session == nil ? "the central" : "the session")"
    }
}
