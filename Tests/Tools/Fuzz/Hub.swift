// Built and started by Scripts/fuzz, together with the sources of BLE, BLESimulation, BLEESPHome, BLEProxy and what they
// need.
internal import BLE
internal import BLEESPHome
internal import BLEProxy
internal import BLESimulation
internal import Logging
internal import Loop

/// A whole proxy for several clients, on a simulated radio: hostile ones, with and without the key, which send any
/// messages in any order, change them, come and go; and beside them one that does what clients do.
///
/// The input is a number, which determines one message, apart from the order of tasks. A finding is a trap, a client
/// that is not answered as it should be, a newcomer that is kept out, anything that is left when the clients have gone
/// or the proxy has ended, and memory that grows.
@main
struct HubFuzz {
    /// The number of inputs for one proxy.
    private static let sessionLength = 2000

    static func main() async {
        let run = FuzzRun(CommandLine.arguments)
        var session: HubSession?
        var totals = HubSession.Totals()
        for number in run.numbers(sessionLength) {
            run.begin(number)
            var dice = Dice(seed: run.seed, input: number)
            if number % sessionLength == 0 {
                if let session {
                    run.check(await session.end(&totals), number, "the end")
                    run.check(await session.vanish(), number, "the vanishing")
                }
                session = await HubSession(&dice) { run.trace($0()) }
                run.check(await session?.start(), number, "the start")
            }
            run.check(await session?.play(dice), number, "an input")
        }
        if let session {
            run.check(await session.end(&totals), run.last, "the end")
            run.check(await session.vanish(), run.last, "the vanishing")
        }
        run.end(
            "\(totals.sent) messages and \(totals.bytes) pieces of other bytes were sent over \(totals.connections) "
                + "connections, and \(totals.received) messages received, of which \(totals.links) were links, "
                + "\(totals.values) values and \(totals.errors) errors; \(totals.answers) answers to the client beside "
                + "them and \(totals.newcomers) newcomers were checked")
    }
}

/// One proxy and its clients.
private final class HubSession {
    struct Totals {
        var (sent, bytes, connections, answers, newcomers) = (0, 0, 0, 0, 0)
        /// The messages to hostile clients; of these, links that are up, values that were read or notified, and errors.
        var (received, links, values, errors) = (0, 0, 0, 0)

        mutating func take(_ counts: HubClient.Counts) {
            received += counts.all
            links += counts.links
            values += counts.values
            errors += counts.errors
        }
    }

    private let clock = ManualClock()
    private let radio: SimulatedRadio
    private let key: EncryptionKey?
    private var central: Central?
    private var server: ProxyServer?
    private var good: HubClient?
    private var hostile: [(client: HubClient, isSilent: Bool)] = []
    private var totals = Totals()
    /// The handle of the value that the client beside the hostile ones writes and reads.
    private var handle: UInt32 = 0
    private var written: [UInt8] = []
    private var sinceCheck = 0
    private let trace: (() -> String) -> Void

    /// One thread for the clients of all sessions.
    private static let loop = EventLoop(name: "clients")
    private static let service = BluetoothUUID(0xFFE0)
    private static let (goodAddress, others): (UInt64, [UInt64]) = (
        0xF0F1_F2F3_F4F5, [0xC000_0000_0001, 0xC000_0000_0002, 0xC000_0000_0003]
    )
    /// The addresses that hostile clients name: those of all peripherals, one that is out of range, and none.
    private static let addresses = others + others + [goodAddress, 0xC0FF_EE00_0001, 0, 1 << 48, .max]

    init(_ dice: inout Dice, trace: @escaping (() -> String) -> Void) async {
        radio = SimulatedRadio(clock: clock)
        key = dice.permille(500) ? (try? EncryptionKey(bytes: (0..<32).map { _ in dice.byte() })) : nil
        self.trace = trace
        _ = await radio.add(Self.definition(Self.goodAddress))
        for address in Self.others {
            let device = await radio.add(Self.definition(address))
            if dice.permille(700) {
                let faults: [SimulatedEvent: Double] = [
                    .connect: 0.1, .read: 0.05, .write: 0.05, .subscribe: 0.05, .discover: 0.05, .pair: 0.2,
                    .disconnect: 0.05,
                ]
                await device.disturb(faults, seed: UInt64(dice.below(1000)))
            }
        }
    }

    private static func definition(_ address: UInt64) -> PeripheralDefinition {
        PeripheralDefinition(
            address: DeviceAddress(address)!.description,
            advertisement: Advertisement(localName: "Thing", rssi: -50, serviceUUIDs: [service]),
            services: [
                ServiceDefinition(
                    service,
                    characteristics: [
                        CharacteristicDefinition(
                            BluetoothUUID(0xFFE1), [.read, .write, .writeWithoutResponse], value: [1, 2, 3]),
                        CharacteristicDefinition(
                            BluetoothUUID(0xFFE2), [.notify, .indicate],
                            onSubscribe: { notifier in
                                for number in 0..<100 {
                                    await notifier.notify([UInt8(number)])
                                    try await notifier.clock.sleep(for: .milliseconds(20))
                                }
                            }),
                        CharacteristicDefinition(
                            BluetoothUUID(0xFFE3), [.read, .write], security: .encrypted, value: [9]),
                    ])
            ])
    }

    /// Lets time pass until a condition holds. Returns false if it does not hold after a long time.
    private func pass(_ step: Duration = .milliseconds(20), until isDone: () async -> Bool) async -> Bool {
        let start = ContinuousClock.now
        var turn = 0
        while start.duration(to: .now) < .seconds(120) {
            if await isDone() { return true }
            turn += 1
            if turn % 20 == 0 { clock.advance(by: step) }
            if turn < 200 { await Task.yield() } else { try? await ContinuousClock().sleep(for: .milliseconds(1)) }
        }
        return false
    }

    /// A host of a network of IPv6.
    private static func source(_ host: UInt8) -> [UInt8] {
        [0x20, 0x01, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [host]
    }

    private func connect(from host: UInt8, key: EncryptionKey?, greets: Bool = true) async -> HubClient? {
        guard let (here, there) = try? StreamSocket.pair(), let server else { return nil }
        await server.accept(there, from: Self.source(host))
        totals.connections += 1
        return HubClient(here, key: key, on: Self.loop, begins: greets)
    }

    // MARK: The client beside the hostile ones

    func start() async -> String? {
        let configuration = Central.Configuration(
            clock: clock, logger: Logger(label: "fuzz") { _ in SwiftLogNoOpLogHandler() })
        guard let central = try? await Central(backend: .simulated(radio), configuration: configuration) else {
            return "the central does not start"
        }
        self.central = central
        server = ProxyServer(
            central, .init(name: "hub", address: "AA:BB:CC:DD:EE:FF", key: key, connectionLimit: 6),
            logger: configuration.logger)
        guard let good = await connect(from: 1, key: key) else { return "there is no socket" }
        self.good = good
        guard await pass(until: { good.isOpen }) else { return "the handshake does not end" }
        good.send([
            .hello(client: "good", version: .current), .subscribeSlots, .subscribeAdvertisements(flags: 1),
            .request(.connect, address: Self.goodAddress, addressType: 1),
        ])
        var finding = await expect(good) {
            if case .connection(Self.goodAddress, true, _, 0) = $0 { true } else { false }
        }
        if let finding { return finding }
        good.send([.servicesRequest(address: Self.goodAddress)])
        finding = await expect(good) { [self] message in
            guard case .services(_, let services) = message else { return false }
            for characteristic in services.flatMap(\.characteristics)
            where characteristic.uuid == BluetoothUUID(0xFFE1) {
                handle = characteristic.handle
            }
            return handle != 0
        }
        return finding
    }

    /// Waits for a message, and forgets it and the earlier ones.
    private func expect(_ client: HubClient, _ matches: (ProxyMessage) -> Bool) async -> String? {
        let isThere = await pass {
            client.isEnded || client.kept.contains(where: matches)
        }
        guard isThere else { return "a client is not answered, which has received \(client.kept.suffix(8))" }
        guard client.kept.contains(where: matches) else { return "the connection of a client has ended" }
        client.forget(through: matches)
        totals.answers += 1
        return nil
    }

    /// Writes a value and reads it.
    private func check(_ dice: inout Dice) async -> String? {
        sinceCheck = 0
        guard let good else { return nil }
        written = [dice.byte(), dice.byte(), dice.byte()]
        let (address, handle, value) = (Self.goodAddress, handle, written)
        good.send([
            .write(address: address, handle: handle, withResponse: true, value), .ping,
        ])
        if let finding = await expect(good, { $0 == .pingAnswer }) { return finding }
        // The ping may be answered first.
        good.send([.read(address: address, handle: handle)])
        return await expect(good) { message in
            if case .readAnswer(address, handle, let read) = message { return read == value }
            return false
        }
    }

    /// A client that comes, asks and goes, from the network of the hostile ones.
    private func visit() async -> String? {
        guard let client = await connect(from: 2, key: key) else { return nil }
        totals.newcomers += 1
        defer { client.close() }
        guard await pass(until: { client.isOpen || client.isEnded }), client.isOpen else {
            return "a newcomer is kept out"
        }
        client.send([.hello(client: "newcomer", version: .current), .deviceInfoRequest])
        if let finding = await expect(client, { if case .deviceInfo = $0 { true } else { false } }) {
            return "a newcomer: \(finding)"
        }
        client.send([.disconnect(reason: 0)])
        return await expect(client) { $0 == .disconnectAnswer }
    }

    // MARK: The hostile ones

    func play(_ input: Dice) async -> String? {
        var dice = input
        for (index, other) in hostile.enumerated().reversed() where other.client.isEnded {
            totals.take(other.client.counts)
            hostile.remove(at: index)
        }
        if hostile.isEmpty || (hostile.count < 7 && dice.permille(15)) { await add(&dice) }
        if dice.permille(2) {
            // Connections that say nothing, from one host and from several.
            for _ in 0..<dice.below(12) { await add(&dice, isSilent: true) }
        }
        if !hostile.isEmpty {
            let (client, isSilent) = hostile[dice.below(hostile.count)]
            switch dice.below(1000) {
            case 0..<2: client.close()
            case 2..<5: client.setReading(false)
            case 5..<15: client.setReading(true)
            case 15..<18:
                totals.bytes += 1
                client.send(bytes: dice.bytes(atMost: 200))
            default: if !isSilent { send(&dice, client) }
            }
            if dice.permille(300) { for (client, _) in hostile { client.flush() } }
        }
        if dice.permille(60) {
            clock.advance(by: dice.pick([.milliseconds(10), .milliseconds(100), .milliseconds(500), .seconds(2)]))
        }
        sinceCheck += 1
        var isDue = sinceCheck > 60
        if dice.permille(2) {
            clock.advance(by: dice.pick([.seconds(12), .seconds(70)]))
            isDue = true
        }
        if isDue, let finding = await check(&dice) { return finding }
        return dice.permille(3) ? await visit() : nil
    }

    private func add(_ dice: inout Dice, isSilent: Bool? = nil) async {
        let isSilent = isSilent ?? dice.permille(100)
        let other = try? EncryptionKey(bytes: [UInt8](repeating: 7, count: 32))
        let isWrong = dice.permille(80)
        // One with many addresses may end those of its neighbors: it has those that no other host has.
        let host = dice.permille(800) ? 3 : UInt8(3 + dice.below(3))
        guard hostile.count < 40,
            let client = await connect(
                from: host, key: isWrong ? (key == nil ? other : dice.permille(500) ? nil : other) : key,
                greets: !isSilent)
        else { return }
        if !isSilent, !isWrong {
            guard await pass(until: { client.isOpen || client.isEnded }) else { return }
            if dice.permille(930) { client.queue(.hello(client: "hostile", version: Self.version(&dice))) }
        }
        hostile.append((client, isSilent))
    }

    private static func version(_ dice: inout Dice) -> APIVersion {
        dice.permille(800) ? .current : APIVersion(UInt32(dice.below(3)), UInt32(dice.below(20)))
    }

    private func send(_ dice: inout Dice, _ client: HubClient) {
        let message = ProxyMessage.hostile(&dice, Self.addresses)
        trace { "\(message)" }
        totals.sent += 1
        guard dice.permille(40) else { return client.queue(message) }
        var (type, body) = message.encoded()
        for _ in 0...dice.below(3) { body.change(&dice) }
        if dice.permille(50) { type = UInt16(dice.below(160)) }
        if let changed = try? ProxyMessage(type: UInt64(type), body[...]) {
            client.queue(changed)
        } else if key == nil {
            client.queue(frame: UInt64(type), body)
        }
    }

    // MARK: The end

    /// Ends the clients, and waits until nothing of them is left.
    func end(_ totals: inout Totals) async -> String? {
        guard let server, let good, let central else { return nil }
        for (client, _) in hostile {
            self.totals.take(client.counts)
            client.close()
        }
        hostile = []
        guard await pass(.milliseconds(500), until: { await server.hasOnly(Self.goodAddress) }) else {
            return "something of the clients that have left is left: \(await server.rest)"
        }
        var dice = Dice(seed: 1, input: 1)
        if let finding = await check(&dice) { return "at the end: \(finding)" }
        good.send([.disconnect(reason: 0)])
        if let finding = await expect(good, { $0 == .disconnectAnswer }) { return finding }
        guard await pass(.milliseconds(500), until: { await server.isIdle }) else {
            return "something of the last client is left: \(await server.rest)"
        }
        guard await pass(until: { await !central.isScanning }) else { return "the radio still scans" }
        await server.close()
        await central.shutDown()
        guard server.loop.timerCount == 0 else { return "\(server.loop.timerCount) timers are left" }
        totals.add(self.totals)
        good.close()
        return nil
    }

    /// Waits until the proxy and the central are released.
    func vanish() async -> String? {
        weak let server = server
        weak let central = central
        (self.server, self.central, good) = (nil, nil, nil)
        guard await pass(until: { server == nil && central == nil }) else {
            return "something keeps \(server == nil ? "the central" : "the proxy")"
        }
        return nil
    }
}

extension HubSession.Totals {
    fileprivate mutating func add(_ other: Self) {
        sent += other.sent
        bytes += other.bytes
        connections += other.connections
        received += other.received
        links += other.links
        values += other.values
        errors += other.errors
        answers += other.answers
        newcomers += other.newcomers
    }
}

extension ProxyServer {
    /// Whether there is one client, with one link and nothing under way.
    fileprivate func hasOnly(_ address: UInt64) -> Bool {
        clients.count == 1 && links.count == 1 && unpairs.isEmpty && slots.hold(of: address) != nil
            && clients.values.allSatisfy { $0.requests.isEmpty }
    }

    fileprivate var isIdle: Bool {
        clients.isEmpty && links.isEmpty && unpairs.isEmpty && slots.isEmpty && scan.task == nil
            && scan.endingCount == 0
    }

    fileprivate var rest: String {
        "\(clients.count) clients, \(links.count) links, \(unpairs.count) unpairings, "
            + "\(clients.values.reduce(0) { $0 + $1.requests.count }) requests, "
            + "\(clients.values.map { slots.slots(of: $0.event?.number ?? 0) }), \(scan.endingCount) scans"
    }
}
