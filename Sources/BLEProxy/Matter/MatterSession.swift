internal import BLE
internal import BLEDefinitions
internal import Waiting

/// The protocol between a proxy and a Matter server, for one connection: the greeting, the scan, the links and their
/// numbers, and the commands without an answer. Each command gets exactly one.
struct MatterSession {
    enum Action: Equatable {
        case send(MatterFrame)
        /// The server has greeted.
        case greeted
        case startScan
        case stopScan
        case connect(link: UInt16, Peripheral.ID, timeout: Duration)
        /// Ends a link. ``linkEnded(_:_:)`` follows.
        case end(link: UInt16, reason: String?)
        /// Does something on a link, after what was asked for before. ``finished(_:_:on:)`` follows.
        case perform(MatterOperation, number: Int, link: UInt16)
        /// No link was made, because of the limit.
        case linkRefused(Peripheral.ID)
        /// A binary message is of a kind that this version does not have.
        case ignored(opcode: UInt8)
        /// Ends the connection.
        case fail(Failure)
    }

    /// Why a connection to a server ends.
    enum Failure: Error, Equatable {
        /// The server speaks another version of the protocol. It will next time, too.
        case otherVersion(Int)
        /// With the server's words, which are safe to show.
        case refused(String)
        case violation(String)
    }

    /// The service of Matter, whose data commissionable devices advertise.
    static let service = BluetoothUUID(0xFFF6)
    /// The maximum number of commands and writes of a link that wait for their end.
    static let maximumWaiting = 256
    /// The maximum number of devices that are remembered because they were told.
    static let maximumDevices = 1024
    /// The time within which an attempt to connect is answered. The server waits for 60 s.
    static let connectLimit = Duration.seconds(55)
    /// The maximum length of the payload of a write, in bytes.
    static let longestPayload = 512
    /// The maximum length of a reason of the server that is told, in characters.
    static let longestReason = 200

    private enum Scan: Equatable {
        case idle
        case starting(id: Int)
        case running
        /// `start` is the command that has begun it, if it has no answer yet. `next` is the one that begins another
        /// when this one has ended.
        case stopping(id: Int, start: Int?, next: Start? = nil)
    }

    private struct Start: Equatable {
        let id: Int
        let reportsDuplicates: Bool
    }

    private struct Link {
        let address: Peripheral.ID
        /// The command that has asked for it. Nil if it was answered.
        var connect: Int?
        var isUp = false
        /// The command that ends it.
        var disconnect: Int?
        var isEnding = false
        /// The numbers of what was asked for, with the commands. Nil for payloads, which are not answered.
        var waiting: [Int: Int?] = [:]
    }

    private struct Device {
        /// What was told last. Nil if the next advertisement is to be told.
        var told: Advertisement?
        /// Whether it was heard again since it was last the oldest.
        var isRecent = false
    }

    private let limit: Int
    private(set) var hasGreeted = false
    private var scan = Scan.idle
    private var reportsDuplicates = true
    private var links: [UInt16: Link] = [:]
    private var lastLink: UInt16 = 0
    private var lastNumber = 0
    /// The devices that were told.
    private var devices: [Peripheral.ID: Device] = [:]
    /// The devices. The first one is the next to be forgotten, unless it was heard again.
    private var order = Fifo<Peripheral.ID>()

    /// - Parameter limit: the maximum number of links, including those that are made or ended.
    init(limit: Int) { self.limit = limit }

    var linkCount: Int { links.count }

    // MARK: Messages of the server

    mutating func receive(text: [UInt8]) -> [Action] {
        guard let message = MatterText(text) else { return [.fail(.violation("a message is not a JSON object"))] }
        guard hasGreeted else {
            guard case .greeting(let version, let error, let details) = message else {
                return [.fail(.violation("its first message is not its greeting"))]
            }
            guard let version else { return [.fail(.violation("its greeting has no version"))] }
            guard version == MatterFrame.version else { return [.fail(.otherVersion(version))] }
            if let error {
                let reason = String((details ?? error).unicodeScalars.prefix(Self.longestReason))
                return [.fail(.refused(reason.harmless))]
            }
            hasGreeted = true
            return [.greeted]
        }
        guard case .command(let id, let request) = message else { return [] }
        switch request {
        case .failure(let refusal): return [.send(.failure(id, refusal))]
        case .success(.startScan(let services, let duplicates)): return startScan(id, services, duplicates)
        case .success(.stopScan): return stopScan(id)
        case .success(.connect(let device, let timeout)): return connect(id, device, timeout)
        case .success(.disconnect(let number)):
            guard let link = find(number) else { return [.send(.failure(id, Self.noLink(number)))] }
            links[link]?.disconnect = id
            links[link]?.isEnding = true
            return [.end(link: link, reason: nil)]
        case .success(.perform(let operation, let number)):
            guard let link = find(number) else { return [.send(.failure(id, Self.noLink(number)))] }
            guard let action = perform(operation, id, link) else {
                return [.send(.failure(id, MatterRefusal(.internalError, "too many commands wait")))]
            }
            return [action]
        }
    }

    mutating func receive(binary: [UInt8]) -> [Action] {
        guard hasGreeted else { return [.fail(.violation("its first message is not its greeting"))] }
        guard binary.count >= MatterFrame.headerLength else {
            return [.fail(.violation("a binary message has no header"))]
        }
        guard binary[0] == MatterFrame.writeOpcode else { return [.ignored(opcode: binary[0])] }
        // The link may have ended meanwhile, which was told.
        guard let link = find(Int(binary[1]) << 8 | Int(binary[2])) else { return [] }
        let payload = Array(binary.dropFirst(MatterFrame.headerLength))
        // Nothing answers a write, and Matter's transport cannot go on without it.
        guard payload.count <= Self.longestPayload else { return end(link, "a write was too long") }
        guard let action = perform(.writePayload(payload), nil, link) else { return end(link, "too many writes wait") }
        return [action]
    }

    /// Returns the link that a server knows by a number, unless it is being ended.
    private func find(_ number: Int) -> UInt16? {
        guard let number = UInt16(exactly: number), let link = links[number], link.isUp, !link.isEnding else {
            return nil
        }
        return number
    }

    private static func noLink(_ number: Int) -> MatterRefusal {
        MatterRefusal(.notConnected, "there is no link with the handle \(number)")
    }

    private mutating func end(_ link: UInt16, _ reason: String) -> [Action] {
        links[link]?.isEnding = true
        return [.end(link: link, reason: reason)]
    }

    private mutating func perform(_ operation: MatterOperation, _ id: Int?, _ link: UInt16) -> Action? {
        guard let count = links[link]?.waiting.count, count < Self.maximumWaiting else { return nil }
        lastNumber += 1
        links[link]?.waiting[lastNumber] = .some(id)
        return .perform(operation, number: lastNumber, link: link)
    }

    // MARK: The scan

    private mutating func startScan(_ id: Int, _ services: [BluetoothUUID], _ duplicates: Bool) -> [Action] {
        let start = Start(id: id, reportsDuplicates: duplicates)
        var next: Scan?
        switch scan {
        case .idle: break
        case .stopping(let stop, let early, next: nil): next = .stopping(id: stop, start: early, next: start)
        default: return [.send(.failure(id, MatterRefusal(.alreadyScanning, "there is a scan already")))]
        }
        guard services.isEmpty || services.contains(Self.service) else {
            let message = "only devices that advertise \(Self.service) are offered"
            return [.send(.failure(id, MatterRefusal(.internalError, message)))]
        }
        guard let next else { return [begin(start)] }
        scan = next
        return []
    }

    private mutating func begin(_ start: Start) -> Action {
        (scan, reportsDuplicates) = (.starting(id: start.id), start.reportsDuplicates)
        devices = devices.mapValues { Device(told: nil, isRecent: $0.isRecent) }
        return .startScan
    }

    private static let wasStopped = MatterRefusal(.internalError, "the scan was stopped")

    private mutating func stopScan(_ id: Int) -> [Action] {
        switch scan {
        case .idle, .stopping(_, _, next: nil):
            return [.send(.failure(id, MatterRefusal(.notScanning, "there is no scan")))]
        case .stopping(let stop, let early, let next?):
            scan = .stopping(id: stop, start: early)
            return [.send(.failure(next.id, Self.wasStopped)), .send(.success(id))]
        case .starting(let start): scan = .stopping(id: id, start: start)
        case .running: scan = .stopping(id: id, start: nil)
        }
        return [.stopScan]
    }

    /// The scan has begun.
    mutating func scanBegan() -> [MatterFrame] {
        switch scan {
        case .starting(let id):
            scan = .running
            return [.success(id)]
        case .stopping(let id, let start?, let next):
            scan = .stopping(id: id, start: nil, next: next)
            return [.success(start)]
        default: return []
        }
    }

    /// The scan has ended, or did not begin.
    mutating func scanEnded(_ error: BLEError) -> [Action] {
        let ended = scan
        scan = .idle
        switch ended {
        case .idle: return []
        case .starting(let id): return [.send(.failure(id, MatterRefusal(.bluetoothUnavailable, error.message)))]
        case .running: return [.send(.scanStopped(error.message))]
        case .stopping(let id, let start, let next):
            let early = start.map { Action.send(.failure($0, Self.wasStopped)) }
            return [early, .send(.success(id)), next.map { begin($0) }].compactMap { $0 }
        }
    }

    /// Records an advertisement. Returns what the server is told, if it is told.
    mutating func discovered(_ id: Peripheral.ID, _ advertisement: Advertisement) -> MatterFrame? {
        guard scan == .running, id.isAddress, advertisement.data(ofService: Self.service) != nil else { return nil }
        var comparable = advertisement
        comparable.rssi = nil
        if let device = devices[id] {
            devices[id]?.isRecent = true
            guard reportsDuplicates || device.told != comparable else { return nil }
            devices[id]?.told = comparable
        } else {
            if devices.count >= Self.maximumDevices { forgetOldest() }
            order.append(id)
            devices[id] = Device(told: comparable)
        }
        return .discovered(id, advertisement)
    }

    /// Forgets the device that was not heard for the longest time: each that was heard again is put back once.
    private mutating func forgetOldest() {
        while let oldest = order.popFirst() {
            guard devices[oldest]?.isRecent == true else {
                devices[oldest] = nil
                return
            }
            devices[oldest]?.isRecent = false
            order.append(oldest)
        }
    }

    // MARK: Links

    private mutating func connect(_ id: Int, _ device: Peripheral.ID, _ timeout: Duration) -> [Action] {
        func refuse(_ code: MatterRefusal.Code, _ message: String) -> Action {
            .send(.failure(id, MatterRefusal(code, message)))
        }
        guard devices[device] != nil else {
            return [
                refuse(.deviceNotFound, "it has not advertised \(Self.service) to this proxy since it was connected")
            ]
        }
        if let link = links.values.first(where: { $0.address == device }) {
            return [
                link.isEnding
                    ? refuse(.connectionFailed, "the last link to it is being ended")
                    : refuse(.alreadyConnected, "there is a link to it already")
            ]
        }
        guard links.count < limit else {
            return [.linkRefused(device), refuse(.connectionFailed, "all \(limit) links are in use")]
        }
        repeat { lastLink &+= 1 } while lastLink == 0 || links[lastLink] != nil
        links[lastLink] = Link(address: device, connect: id)
        return [.connect(link: lastLink, device, timeout: timeout)]
    }

    /// A link is up.
    mutating func linkBegan(_ number: UInt16, mtu: Int) -> [MatterFrame] {
        guard let id = links[number]?.connect, links[number]?.isEnding == false else { return [] }
        links[number]?.connect = nil
        links[number]?.isUp = true
        return [.success(id, ["connection_handle": .int(Int(number)), "mtu": .int(mtu)])]
    }

    /// The time has passed within which an attempt to connect is answered.
    mutating func connectExpired(_ number: UInt16, after limit: Duration) -> [Action] {
        guard let id = links[number]?.connect else { return [] }
        links[number]?.connect = nil
        let reason = "there was no link within \(limit)"
        return [.send(.failure(id, MatterRefusal(.timeout, reason)))] + end(number, reason)
    }

    /// A link has ended, or could not be made: what waits is answered.
    mutating func linkEnded(_ number: UInt16, _ error: BLEError, reason: String? = nil) -> [MatterFrame] {
        guard let link = links.removeValue(forKey: number) else { return [] }
        if let id = link.connect { return [.failure(id, MatterRefusal(connecting: error))] }
        // The server does not know its number if it came too late.
        guard link.isUp else { return [] }
        var frames: [MatterFrame] = link.waiting.sorted { $0.key < $1.key }.compactMap { _, id in
            id.map { MatterFrame.failure($0, MatterRefusal(.notConnected, "the link has ended")) }
        }
        switch link.disconnect {
        case let id? where error.code == .disconnectionFailed || error.code == .timedOut:
            frames.append(.failure(id, MatterRefusal(.internalError, error.message)))
        case let id?: frames.append(.success(id))
        case nil: frames.append(.disconnected(number, reason ?? error.message))
        }
        return frames
    }

    /// What was asked for has been done. Returns the answer, unless the link has ended, which has answered it.
    mutating func finished(
        _ number: Int, _ result: Result<[String: JSON], MatterRefusal>, on link: UInt16
    ) -> MatterFrame? {
        guard let entry = links[link]?.waiting.removeValue(forKey: number), let id = entry else { return nil }
        return switch result {
        case .success(let result): .success(id, result)
        case .failure(let refusal): .failure(id, refusal)
        }
    }

    /// A payload could not be written, or notifications have ended. Nothing tells the server, and Matter's transport
    /// cannot go on without it: the link is ended.
    mutating func transportFailed(_ link: UInt16, _ reason: String) -> [Action] {
        find(Int(link)) == nil ? [] : end(link, reason)
    }
}
