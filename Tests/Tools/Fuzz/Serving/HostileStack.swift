internal import BLE
internal import Synchronization

/// A stack in the peripheral role that refuses, forgets and invents: attributes that are not served, impossible
/// offsets, subscribers without links, ends that are reported twice.
actor HostileStack: PeripheralBackend {
    nonisolated let limits: PeripheralLimits
    private var context: PeripheralContext?
    private var dice: Dice
    private var state = AdapterState.poweredOn
    private var accepts: [Int: @Sendable (any ChannelTransport, Peripheral.ID, PSM) -> Void] = [:]
    private var ends: [Int: @Sendable (BLEError) -> Void] = [:]
    private(set) var transports: [HostileTransport] = []
    private var applications: [Int] = []
    private var advertisements: [Int] = []
    /// Indications that may be confirmed.
    private var confirmations: [Outcome<Void>] = []
    private(set) var finding: String?
    private let open = Mutex(0)
    private(set) var ended = 0

    init(_ dice: Dice, distinguishesSubscribers: Bool) {
        self.dice = dice
        limits = PeripheralLimits(
            reservedServices: [BluetoothUUID(0x1800)], distinguishesSubscribers: distinguishesSubscribers,
            requestTimeout: .seconds(5))
    }

    /// The requests that have no answer yet.
    nonisolated var openCount: Int { open.withLock { $0 } }

    private func refusal() -> BLEError? {
        guard dice.permille(100) else { return nil }
        return BLEError(
            dice.pick([.failed, .busy, .bluetoothLost, .timedOut, .poweredOff]), "refused",
            isRetryable: dice.permille(500))
    }

    func start(_ context: PeripheralContext) async throws(BLEError) { self.context = context }

    func shutDown() async {
        for transport in transports { transport.end(.shutDown) }
        for confirmation in confirmations { confirmation.deliver(.failure(.shutDown)) }
        (context, accepts, ends, confirmations) = (nil, [:], [:], [])
    }

    func adapterState() -> AdapterState { state }

    func register(_ services: [ServiceDefinition], as application: Int) async throws(BLEError) {
        if let error = refusal() { throw error }
        if applications.contains(application) { finding = "an application is registered twice" }
        applications.append(application)
    }

    func unregister(_ application: Int) async { applications.removeAll { $0 == application } }

    func notify(
        _ value: [UInt8], from attribute: ServedAttribute, to central: Peripheral.ID?
    ) async throws(BLEError) {
        if value.count > 512 { finding = "a value of \(value.count) bytes is notified" }
        if let error = refusal() { throw error }
    }

    func indicate(
        _ value: [UInt8], from attribute: ServedAttribute, to central: Peripheral.ID?
    ) async throws(BLEError) {
        if let error = refusal() { throw error }
        let outcome = Outcome<Void>()
        confirmations.append(outcome)
        if confirmations.count > 200 { finding = "more than 200 indications are on their way" }
        defer { confirmations.removeAll { $0 === outcome } }
        try await outcome.wait()
    }

    func publishChannel(
        _ psm: PSM?, _ options: ChannelOptions, as publication: Int,
        accept: @escaping @Sendable (any ChannelTransport, Peripheral.ID, PSM) -> Void,
        onEnd: @escaping @Sendable (BLEError) -> Void
    ) async throws(BLEError) -> PSM {
        if let error = refusal() { throw error }
        accepts[publication] = accept
        ends[publication] = onEnd
        return psm ?? 0x0080
    }

    func unpublishChannel(_ publication: Int) async { (accepts[publication], ends[publication]) = (nil, nil) }

    func startAdvertising(_ parameters: AdvertisingParameters, as advertising: Int) async throws(BLEError) {
        if let error = refusal() { throw error }
        if advertisements.contains(advertising) { finding = "an advertisement is started twice" }
        advertisements.append(advertising)
    }

    func stopAdvertising(_ advertising: Int) async { advertisements.removeAll { $0 == advertising } }

    // MARK: Actions

    static let centrals = (1...4).map { Peripheral.ID(rawValue: "C0:00:00:00:00:0\($0)") }
    /// The central that subscribes, writes to a handler that waits, confirms nothing and opens channels, all the time.
    static let hostile = centrals[3]
    /// The central whose requests are only those that are compared with the model.
    static let owner = Peripheral.ID(rawValue: "C0:00:00:00:00:AA")
    /// The links of the requests. Some are stale.
    private var links: [Peripheral.ID: CentralLink] = [:]

    private func link(of central: Peripheral.ID) -> CentralLink? {
        if dice.permille(100) { return nil }
        if let link = links[central] { return link }
        let link = CentralLink()
        links[central] = link
        return link
    }

    private func attribute() -> ServedAttribute {
        ServedAttribute(
            application: dice.permille(900) ? applications.last ?? 1 : dice.below(60), service: dice.below(3),
            characteristic: dice.permille(950) ? dice.below(6) : Int(dice.number()),
            descriptor: dice.permille(200) ? dice.below(4) : nil)
    }

    private func request() -> AttributeRequest {
        let central = dice.pick(Self.centrals)
        return AttributeRequest(
            central: central, transport: dice.pick([nil, .le, .classic]), attMTU: dice.pick([nil, 23, 185, 517]),
            offset: dice.permille(700) ? 0 : dice.permille(700) ? dice.below(600) : Int(dice.number()),
            writeType: dice.pick([nil, .withResponse, .withoutResponse]), isPrepared: dice.permille(100),
            link: link(of: central))
    }

    func act(_ input: Dice) {
        dice = input
        guard let context else { return }
        for _ in 0..<dice.below(4) {
            switch dice.below(16) {
            case 0...3 where openCount < 100: read(attribute(), request(), context)
            case 4...6 where openCount < 100:
                write(dice.bytes(atMost: dice.permille(800) ? 30 : 700), attribute(), request(), context)
            case 7, 8:
                let central = limits.distinguishesSubscribers || dice.permille(100) ? dice.pick(Self.centrals) : nil
                context.handleEvent(.subscribed(attribute(), central: central, attMTU: dice.pick([nil, 23, 517])))
            case 9:
                let central = limits.distinguishesSubscribers ? dice.pick(Self.centrals) : nil
                context.handleEvent(.unsubscribed(attribute(), central: central))
            case 10: context.handleEvent(.centralConnected(dice.pick(Self.centrals)))
            case 11:
                let central = dice.pick(Self.centrals)
                let ended = links.removeValue(forKey: central)
                ended?.end()
                context.handleEvent(.centralDisconnected(central))
                // The end of the link overtakes this request.
                if let ended, openCount < 100 {
                    let request = AttributeRequest(central: central, link: ended)
                    write([1, 2, 3], attribute(), request, context, isStale: true)
                }
            case 12:
                guard !confirmations.isEmpty else { break }
                confirmations[dice.below(confirmations.count)].deliver(
                    dice.permille(800) ? .success(()) : .failure(BLEError(.disconnected, "gone")))
            case 13:
                guard let accept = accepts.values.first, transports.count(where: { !$0.isClosed }) < 20 else { break }
                transports.removeAll { $0.isClosed }
                let transport = HostileTransport(
                    maximumLength: dice.pick([23, 64, 65535]), maximumReceiveLength: dice.pick([23, 2048]))
                transports.append(transport)
                accept(transport, dice.pick(Self.centrals), 0x0080)
            case 14:
                for transport in transports { transport.act(&dice) }
            default: if dice.permille(150) { lose(context) }
            }
        }
        if dice.permille(300) { attack(context) }
        for transport in transports {
            transport.pump()
            finding = finding ?? transport.finding
        }
    }

    /// Sends requests of one central that could keep the others from being served.
    private func attack(_ context: PeripheralContext) {
        let application = applications.last ?? 1
        func place(_ characteristic: Int) -> ServedAttribute {
            ServedAttribute(application: application, service: 0, characteristic: characteristic)
        }
        for _ in 0..<dice.below(5) where openCount < 100 {
            // Two bytes: the handler waits for longer than the deadline.
            write([1, 2], place(1), AttributeRequest(central: Self.hostile, link: link(of: Self.hostile)), context)
        }
        if openCount < 120 {
            // The model's characteristic, whose owner must not be affected.
            let own = ServedAttribute(application: application, service: 3, characteristic: 0)
            read(own, AttributeRequest(central: Self.hostile, offset: dice.below(40)), context)
        }
        if limits.distinguishesSubscribers {
            context.handleEvent(.subscribed(place(0), central: Self.hostile, attMTU: 23))
        }
        if let accept = accepts.values.first {
            for _ in 0..<dice.below(12) {
                let transport = HostileTransport(maximumLength: 64, maximumReceiveLength: 64)
                transports.append(transport)
                accept(transport, Self.hostile, 0x0080)
            }
            transports.removeAll { $0.isClosed }
            let open = transports.count { !$0.isClosed }
            if open > 64 { finding = finding ?? "\(open) channels are open" }
        }
    }

    private func lose(_ context: PeripheralContext) {
        switch dice.below(5) {
        case 0:
            let ended = applications.last ?? dice.below(60)
            applications.removeAll { $0 == ended }
            context.handleEvent(.applicationEnded(ended, BLEError(.failed, "ended")))
        case 1:
            let ended = advertisements.last ?? dice.below(60)
            advertisements.removeAll { $0 == ended }
            context.handleEvent(.advertisingEnded(ended, dice.permille(500) ? nil : BLEError(.failed, "ended")))
        case 2:
            state = dice.pick([.poweredOn, .poweredOff, .unavailable, .resetting])
            if state == .unavailable { applications = [] }
            if state != .poweredOn { advertisements = [] }
            context.handleEvent(.adapterStateChanged(state))
        case 3:
            (applications, advertisements) = ([], [])
            context.handleEvent(.stackLost(BLEError(.bluetoothLost, "gone")))
            state = .poweredOn
            context.handleEvent(.adapterStateChanged(.poweredOn))
        default:
            for end in ends.values { end(BLEError(.adapterNotFound, "gone")) }
            (accepts, ends) = ([:], [:])
        }
    }

    /// Switches the adapter on, for the begin and the end of a session.
    func settle() {
        state = .poweredOn
        context?.handleEvent(.adapterStateChanged(.poweredOn))
    }

    private func read(_ attribute: ServedAttribute, _ request: AttributeRequest, _ context: PeripheralContext) {
        open.withLock { $0 += 1 }
        Task {
            do throws(ATTError) {
                let value = try await context.read(attribute, request)
                if value.count + request.offset > 512 { note("a read of \(value.count) bytes at \(request.offset)") }
                if Self.isGuarded(attribute), request.attMTU == 23 { note("a read that is not authorized is answered") }
            } catch {}
            close()
        }
    }

    private func write(
        _ value: [UInt8], _ attribute: ServedAttribute, _ request: AttributeRequest, _ context: PeripheralContext,
        isStale: Bool = false
    ) {
        open.withLock { $0 += 1 }
        Task {
            do throws(ATTError) {
                try await context.write(attribute, value, request)
                if isStale { note("a write of an ended link is accepted") }
                if Self.isGuarded(attribute), request.attMTU == 23 {
                    note("a write that is not authorized is accepted")
                }
            } catch {}
            close()
        }
    }

    /// Whether the definition allows only links with large packets to read and write a characteristic.
    private static func isGuarded(_ attribute: ServedAttribute) -> Bool {
        attribute.service < 3 && attribute.characteristic == 4 && attribute.descriptor == nil
    }

    private func note(_ text: String) { finding = finding ?? text }

    private func close() {
        ended += 1
        open.withLock { $0 -= 1 }
    }

    // MARK: A model

    /// Reads or writes a part of the stored value in `attribute`, and compares the answer with the expected one.
    func compare(_ attribute: ServedAttribute, _ model: inout [UInt8], _ input: Dice) async {
        var dice = input
        guard let context else { return }
        var request = AttributeRequest(central: Self.owner, attMTU: 517)
        request.offset = dice.permille(500) ? 0 : dice.below(model.count + 3)
        let isPrepared = dice.permille(100)
        if dice.permille(500) {
            let value = dice.bytes(atMost: dice.permille(900) ? 40 : 600)
            request.isPrepared = isPrepared
            var error: ATTError?
            do throws(ATTError) { try await context.write(attribute, value, request) } catch let found { error = found }
            guard !isPrepared else {
                if let error { note("a prepared write is rejected with \(error)") }
                return
            }
            let whole =
                request.offset > model.count
                ? nil : model.prefix(request.offset) + value + model.dropFirst(request.offset + value.count)
            let due: ATTError? = whole == nil ? .invalidOffset : whole!.count > 512 ? .invalidAttributeValueLength : nil
            // Whole writes without an offset replace the value.
            let result = request.offset == 0 ? value : whole.map { Array($0) } ?? []
            let expected = request.offset == 0 ? (value.count > 512 ? .invalidAttributeValueLength : nil) : due
            if error != expected {
                note("a write at \(request.offset) of \(value.count): \(String(describing: error))")
            }
            if expected == nil, error == nil { model = result }
        } else {
            do throws(ATTError) {
                let value = try await context.read(attribute, request)
                if request.offset > model.count || value != Array(model.dropFirst(request.offset)) {
                    note("a read at \(request.offset) returns \(value), not \(model)")
                }
            } catch {
                if error != .invalidOffset || request.offset <= model.count {
                    note("a read at \(request.offset): \(error)")
                }
            }
        }
    }
}
