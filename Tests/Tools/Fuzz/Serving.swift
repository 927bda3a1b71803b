// Built and started by Scripts/fuzz, together with the sources of BLE and BLESimulation.
internal import BLE
internal import BLESimulation
internal import Logging
internal import Synchronization

/// A hostile stack below a `PeripheralHost`: requests, prepared writes, subscriptions, links, losses, and the packets
/// of channels. Meanwhile, a program serves a definition, sends values and uses the channels, in virtual time.
///
/// The input is a number, which determines all requests. A finding is a trap, a request or a call that does not end, an
/// answer that is longer than a value can be, a stored value that differs from the written one, a packet that is too
/// long for the channel, anything that is left after the host, and memory that grows.
@main
struct ServingFuzz {
    /// The number of inputs for one host.
    private static let sessionLength = 200

    static func main() async {
        let run = FuzzRun(CommandLine.arguments)
        var session: HostedSession?
        var total = 0
        for number in run.numbers(sessionLength) {
            run.begin(number)
            let dice = Dice(seed: run.seed, input: number)
            if number % sessionLength == 0 {
                if let session {
                    run.check(await session.end(&total), number, "the end")
                    run.check(await session.vanish(), number, "the vanishing")
                }
                session = HostedSession(dice)
                run.check(await session?.start(), number, "the start")
            }
            run.check(await session?.play(dice), number, "an input")
        }
        if let session { run.check(await session.end(&total), run.last, "the end") }
        run.end("\(total) requests were answered")
    }
}

/// A host on a hostile stack, and the program that uses it.
private final class HostedSession {
    private let clock = ManualClock()
    private let stack: HostileStack
    private var host: PeripheralHost?
    private var served: ServedPeripheral?
    private var serving: Task<Void, Never>?
    private let done = Outcome<Void>()
    private var model: [UInt8] = []
    private let calls = Counter()

    private static let service = BluetoothUUID(0xFFE0)
    private static let stored = Characteristic<[UInt8]>(BluetoothUUID(0xFFE1))
    private static let output = Characteristic<[UInt8]>(BluetoothUUID(0xFFE2))

    private final class Counter: Sendable {
        private let state = Mutex(0)
        var value: Int { state.withLock { $0 } }
        func add(_ number: Int) { state.withLock { $0 += number } }
    }

    private final class Flag: Sendable {
        private let state = Atomic(false)
        var isSet: Bool { state.load(ordering: .acquiring) }
        func set() { state.store(true, ordering: .releasing) }
    }

    init(_ dice: Dice) {
        var dice = dice
        stack = HostileStack(dice, distinguishesSubscribers: dice.permille(500))
    }

    private static func definition(_ clock: ManualClock) -> PeripheralDefinition {
        let answer: CharacteristicDefinition.ReadHandler = { (request) throws(ATTError) in
            switch request.offset % 4 {
            case 0: return [UInt8](repeating: 1, count: request.attMTU ?? 0)
            case 1: throw .readNotPermitted
            case 2:
                try? await clock.sleep(for: .seconds(30))
                return []
            default: return [UInt8](repeating: 2, count: 600)
            }
        }
        let accept: CharacteristicDefinition.WriteHandler = { (value, _) throws(ATTError) in
            switch value.count % 4 {
            case 0: return
            case 1: throw ATTError(rawValue: 0x80)
            case 2: try? await clock.sleep(for: .seconds(30))
            default: await Task.yield()
            }
        }
        let service = ServiceDefinition(
            service,
            characteristics: [
                CharacteristicDefinition(output.key.characteristic, [.read, .notify, .indicate], value: [0]),
                CharacteristicDefinition(
                    BluetoothUUID(0xFFE3), [.read, .write, .writeWithoutResponse, .notify],
                    descriptors: [DescriptorDefinition(BluetoothUUID(0x2901), isWritable: true)], onRead: answer,
                    onWrite: accept),
                CharacteristicDefinition(
                    BluetoothUUID(0xFFE4), .notify,
                    onSubscribe: { notifier in
                        for number in UInt8.min... {
                            await notifier.notify([UInt8](repeating: number, count: Int(number % 30)))
                            try await notifier.clock.sleep(for: .milliseconds(50))
                            if number == 200 { throw ATTError.unlikelyError }
                        }
                    }),
                .controlPoint(BluetoothUUID(0xFFE5)) { (request) throws(ATTError) in
                    if request.count % 3 == 1 { throw .valueNotAllowed }
                    return request.count % 3 == 2 ? nil : Array(request.prefix(20))
                },
                CharacteristicDefinition(
                    BluetoothUUID(0xFFE6), [.read, .write], value: [1],
                    authorize: { (_, request) throws(ATTError) in
                        if request.attMTU == 23 { throw .insufficientAuthorization }
                    }),
                // The model's characteristic. No other request reaches it, because the stack does not invent its
                // service.
            ], onDisconnect: { _ in await Task.yield() })
        let own = ServiceDefinition(
            BluetoothUUID(0xFFF0),
            characteristics: [CharacteristicDefinition(stored.key.characteristic, [.read, .write])])
        return PeripheralDefinition(
            advertisement: Advertisement(localName: "Fuzz"), services: [service, service, service, own],
            channels: [
                ChannelDefinition(0x0080) { channel in
                    for try await packet in channel.packets {
                        if packet.count % 7 == 6 { return }
                        try? await channel.send(Array(packet.prefix(100)))
                    }
                }
            ])
    }

    /// Lets time pass until a condition holds. Returns false if it does not hold after a long time.
    private func pass(until isDone: () async -> Bool) async -> Bool {
        for turn in 0..<20_000 {
            if await isDone() { return true }
            clock.advance(by: .milliseconds(200))
            for _ in 0..<(turn > 1000 ? 50 : 5) { await Task.yield() }
        }
        return false
    }

    func start() async -> String? {
        let configuration = PeripheralHost.Configuration(
            clock: clock, logger: Logger(label: "fuzz") { _ in SwiftLogNoOpLogHandler() })
        guard let host = try? await PeripheralHost(backend: stack, configuration: configuration) else {
            return "the host does not start"
        }
        self.host = host
        let definition = Self.definition(clock)
        let box = Mutex<ServedPeripheral?>(nil)
        let found = Handle(box)
        serving = Task { [done] in
            // The stack may refuse the call. Then the program tries again.
            for _ in 0..<1000 where found.value == nil {
                _ = try? await host.withServed(definition) { served in
                    found.put(served)
                    try? await done.wait()
                }
            }
        }
        guard await pass(until: { found.value != nil }) else { return "nothing is served" }
        served = found.value
        return nil
    }

    private final class Handle: Sendable {
        private let state: Mutex<ServedPeripheral?>
        init(_ state: consuming Mutex<ServedPeripheral?>) { self.state = state }
        var value: ServedPeripheral? { state.withLock { $0 } }
        func put(_ served: ServedPeripheral) { state.withLock { $0 = served } }
    }

    func play(_ input: Dice) async -> String? {
        var dice = input
        guard let served else { return nil }
        await stack.act(dice)
        if dice.permille(300) { call(&dice, served) }
        if dice.permille(300) {
            let place = ServedAttribute(application: served.application, service: 3, characteristic: 0)
            await stack.compare(place, &model, dice)
        }
        for _ in 0..<3 { await Task.yield() }
        if dice.permille(400) { clock.advance(by: dice.pick([.milliseconds(10), .milliseconds(200), .seconds(1)])) }
        if dice.permille(10) { clock.advance(by: .seconds(40)) }
        return await stack.finding
    }

    /// Uses the served peripheral.
    private func call(_ dice: inout Dice, _ served: ServedPeripheral) {
        guard calls.value < 50 else { return }
        let value = dice.bytes(atMost: dice.permille(900) ? 20 : 600)
        let central = dice.permille(200) ? dice.pick(HostileStack.centrals) : nil
        let choice = dice.below(4)
        calls.add(1)
        let task = Self.call(choice, value, central, served, calls)
        if dice.permille(100) { task.cancel() }
    }

    private static func call(
        _ choice: Int, _ value: [UInt8], _ central: Peripheral.ID?, _ served: ServedPeripheral, _ calls: Counter
    ) -> Task<Void, Never> {
        Task {
            switch choice {
            case 0: try? await served.setValue(value, of: Self.output)
            case 1: try? await served.notify(value, from: Self.output, to: central)
            case 2: try? await served.indicate(value, from: Self.output, to: central)
            default: _ = try? await served.subscribers(of: Self.output)
            }
            calls.add(-1)
        }
    }

    /// Ends the program and the host, and waits until every call has ended.
    func end(_ total: inout Int) async -> String? {
        guard let host else { return nil }
        await stack.settle()
        // They must end by themselves: a shutdown would end them, too.
        guard await pass(until: { stack.openCount == 0 && calls.value == 0 }) else {
            return "these do not end: \(stack.openCount) requests, \(calls.value) calls"
        }
        done.deliver(.success(()))
        let isDown = Flag()
        Task {
            await host.shutDown()
            isDown.set()
        }
        guard await pass(until: { isDown.isSet && stack.openCount == 0 && calls.value == 0 }) else {
            return "these do not end: \(stack.openCount) requests, \(calls.value) calls"
        }
        serving?.cancel()
        await serving?.value
        total += await stack.ended
        return await stack.finding
    }

    /// Waits until the host is released.
    func vanish() async -> String? {
        weak let host = host
        (self.host, self.served, self.serving) = (nil, nil, nil)
        return await pass(until: { host == nil }) ? nil : "something keeps the host"
    }
}
