internal import BLE
internal import BLESimulation
internal import Synchronization

/// Uses a central in every way at once. Every operation must end with a value or an error, and every value must belong
/// to the attribute that was asked for.
final class CentralUser: Sendable {
    private struct State {
        var last = 0
        var open: [Int: (name: String, task: Task<Void, Never>)] = [:]
        var finding: String?
        var ended = 0
        var codes: [String: Int] = [:]
        var values = 0
    }

    private let state = Mutex(State())
    private let central: Central
    private let executor: (any TaskExecutor)?

    init(_ central: Central, on executor: (any TaskExecutor)?) { (self.central, self.executor) = (central, executor) }

    var finding: String? { state.withLock { $0.finding } }
    var openCount: Int { state.withLock { $0.open.count } }
    var openNames: [String] { state.withLock { $0.open.values.map(\.name).sorted() } }
    var counts: (ended: Int, values: Int, codes: [String: Int]) { state.withLock { ($0.ended, $0.values, $0.codes) } }

    private func find(_ finding: String) { state.withLock { $0.finding = $0.finding ?? finding } }
    private func received() { state.withLock { $0.values += 1 } }

    /// Cancels one operation.
    func cancel(_ number: Int) {
        let task = state.withLock { state in
            let open = state.open.keys.sorted()
            return open.isEmpty ? nil : state.open[open[number % open.count]]?.task
        }
        task?.cancel()
    }

    private func run(_ name: String, _ body: @escaping @Sendable () async throws(BLEError) -> Void) {
        state.withLock { state in
            state.last += 1
            let token = state.last
            // The task ends within the lock, so it is recorded before it ends.
            let task = Task(executorPreference: executor) {
                var code = "ok"
                do throws(BLEError) {
                    try await body()
                } catch {
                    code = "\(error.code)"
                }
                self.end(token, code)
            }
            state.open[token] = (name, task)
        }
    }

    private func end(_ token: Int, _ code: String) {
        state.withLock { state in
            state.open[token] = nil
            state.ended += 1
            state.codes[code, default: 0] += 1
        }
    }

    private func check(_ value: [UInt8], _ device: Int, _ characteristic: Int, _ what: String) {
        received()
        if HostileWorld.isAstray(value, device, characteristic) {
            find("\(what) of \(device)/\(characteristic) gave \(Hex.string(value.prefix(12)))")
        }
    }

    /// Begins an operation.
    func act(_ dice: inout Dice) {
        let device = dice.below(HostileWorld.devices.count)
        let characteristic = dice.below(HostileWorld.characteristics.count)
        let peripheral = central.peripheral(Peripheral.ID(rawValue: HostileWorld.addresses[device]))
        let key = CharacteristicKey(characteristic: BluetoothUUID(HostileWorld.uuids[characteristic])!)
        let descriptor = BluetoothUUID(HostileWorld.descriptorUUID)!
        let central = central
        switch dice.below(30) {
        case 0...4: subscribe(peripheral, key, device, characteristic, &dice)
        case 5...8:
            let offset = dice.permille(800) ? 0 : dice.below(20)
            run("read") { () throws(BLEError) in
                let value = try await peripheral.readBytes(of: key, offset: offset)
                if offset == 0 { self.check(value, device, characteristic, "a read") }
            }
        case 9, 10:
            let (value, type) = (
                dice.bytes(atMost: 600), dice.pick([WriteType.withResponse, .withoutResponse, .reliable])
            )
            run("write") { () throws(BLEError) in try await peripheral.write(value, to: key.bytes, type: type) }
        case 11:
            run("read a descriptor") { () throws(BLEError) in
                _ = try await peripheral.readDescriptor(descriptor, of: key)
            }
        case 12: run("describe") { () throws(BLEError) in _ = try await peripheral.userDescription(of: key) }
        case 13:
            let (value, count) = (dice.bytes(atMost: 250), dice.below(5))
            run("packets") { () throws(BLEError) in
                let writer = try await peripheral.packetWriter(to: key.bytes)
                for _ in 0..<count { try await writer.write(Array(value.prefix(max(0, writer.maximumLength)))) }
            }
        case 14:
            run("packet length") { () throws(BLEError) in
                _ = try await peripheral.maximumWriteLength(for: .withoutResponse)
            }
        case 15: run("strength") { () throws(BLEError) in _ = try await peripheral.signalStrength() }
        case 16, 17: run("connect") { () throws(BLEError) in try await peripheral.connect() }
        case 18: run("disconnect") { () throws(BLEError) in try await peripheral.disconnect() }
        case 19: run("pair") { () throws(BLEError) in try await peripheral.pair() }
        case 20: run("unpair") { () throws(BLEError) in try await peripheral.unpair() }
        case 21: run("state") { () throws(BLEError) in _ = try await peripheral.pairingState() }
        case 22: run("trust") { () throws(BLEError) in try await peripheral.setTrusted(true) }
        case 23: run("power") { () throws(BLEError) in try await central.setPowered(true) }
        case 24: run("adapters") { () throws(BLEError) in _ = try await central.adapters() }
        case 25:
            run("request") { () throws(BLEError) in
                let answer = try await peripheral.request([1], on: key.bytes, timeout: .seconds(3))
                self.check(answer, device, characteristic, "a request")
            }
        case 26:
            let policy: ConnectionPolicy = dice.pick([.manual, .onDemand(idle: .seconds(5)), .maintained()])
            run("policy") { () throws(BLEError) in try await peripheral.setConnectionPolicy(policy) }
        default: scan(&dice)
        }
    }

    private func subscribe(
        _ peripheral: Peripheral, _ key: CharacteristicKey, _ device: Int, _ characteristic: Int, _ dice: inout Dice
    ) {
        let count = 1 + dice.below(60)
        let delivery: NotificationDelivery = dice.permille(300) ? .socket : .standard
        let overflow: OverflowPolicy = dice.pick([
            .dropOldest(capacity: 8), .dropNewest(capacity: 2), .fail(capacity: 4),
        ])
        run("subscription") { () throws(BLEError) in
            let values = try await peripheral.notifications(key.bytes, delivery: delivery, overflow: overflow)
            var iterator = values.makeAsyncIterator()
            for _ in 0..<count {
                guard let value = try await iterator.next() else { return }
                self.check(value, device, characteristic, "a subscription")
            }
        }
    }

    private func scan(_ dice: inout Dice) {
        let count = 1 + dice.below(40)
        let criteria: DiscoveryCriteria = dice.pick([.any, .rssi(atLeast: -70), .name(containing: "Thing"), .passive])
        let (central, duplicates) = (central, dice.permille(500))
        run("scan") { () throws(BLEError) in
            var events = central.discoveryEvents(matching: criteria, duplicates: duplicates).makeAsyncIterator()
            for _ in 0..<count {
                guard let event = try await events.next() else { return }
                guard case .found(let found) = event else { continue }
                self.received()
                if found.peripheral.id.rawValue.hasPrefix("66") { self.find("a scan believed a foreigner") }
            }
        }
    }
}

/// A delegate that answers the questions of a pairing at once, later, or never.
struct HastyPairing: PairingDelegate {
    let clock: ManualClock

    func confirm(_ passkey: Passkey, for peripheral: Peripheral) async -> Bool {
        try? await clock.sleep(for: .seconds(2))
        return passkey.value % 2 == 0
    }

    func enterPasskey(for peripheral: Peripheral) async -> Passkey? { Passkey(123_456) }

    func authorizePairing(with peripheral: Peripheral) async -> Bool {
        try? await clock.sleep(for: .seconds(90))
        return true
    }
}
