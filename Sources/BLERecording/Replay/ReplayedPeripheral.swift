internal import BLE

/// What a peripheral did in a recording: the outcomes of each kind of call, in order, and what came by itself.
///
/// Times of outcomes are those that the peripheral took. Times on a link, and of a subscription, begin with it.
struct ReplayedPeripheral {
    /// How a call ended.
    struct Outcome {
        var delay: Duration
        var result: Result<[UInt8], BLEError>
    }

    /// A subscription, with its values.
    struct Subscription {
        var outcome: Outcome?
        var values: [(time: Duration, value: [UInt8])] = []
        fileprivate var began: Duration
        /// Whether the socket was refused, and the central has subscribed once more without one.
        fileprivate var isReplaced = false
    }

    /// A link.
    struct Link {
        enum Event {
            case ended(BLEError)
            /// The services became those at this position of ``ReplayedPeripheral/databases``, which may be the same.
            case servicesChanged(Int)
        }

        var events: [(time: Duration, event: Event)] = []
        /// The position of its services at the beginning.
        var database = 0
        fileprivate var began: Duration
        /// The number of events before the last discovery.
        fileprivate var settled = 0
    }

    /// An L2CAP channel, with what the peripheral sent.
    struct Channel {
        var packets: [(time: Duration, value: [UInt8])] = []
        /// When the peripheral closed it.
        var end: Duration?
        /// The maximum length of a packet to the peripheral, in bytes. Nil if it is not known.
        var maximumLength: Int?
        fileprivate var began: Duration
        /// Whether it was not opened.
        fileprivate var isRefused = false
    }

    /// A place in a database that stays when handles are assigned anew.
    struct Place: Hashable {
        var database: Int
        var handle: UInt16
    }

    private struct Call {
        let entry: RecordedEntry
        let place: Place?
        /// Of a subscription, its position among those of the place.
        var position: Int?
    }

    let id: DeviceID
    /// Whether the system knew it at the beginning.
    private(set) var isKnown = false
    private(set) var advertisement = Advertisement()
    /// When it was first heard. Nil if it never was.
    private(set) var appeared: Duration?
    private(set) var databases: [GATTDatabase] = []
    private(set) var attMTU: Int?
    private(set) var connects: [Outcome] = []
    private(set) var discoveries: [Outcome] = []
    private(set) var pairings: [Outcome] = []
    private(set) var reads: [Place: [Outcome]] = [:]
    private(set) var writes: [Place: [Outcome]] = [:]
    private(set) var subscriptions: [Place: [Subscription]] = [:]
    private(set) var links: [Link] = []
    private(set) var channels: [Int: [Channel]] = [:]
    /// The calls without a reply.
    private var pending: [Int: Call] = [:]
    /// The subscriptions, by handle. Those of earlier services go on.
    private var subscribed: [UInt16: (place: Place, position: Int)] = [:]
    /// The channels that are open, by their calls.
    private var openChannels: [Int: (psm: Int, position: Int)] = [:]
    private var hasLink = false
    /// Whether the services are to be discovered again.
    private var isStale = true

    init(_ id: DeviceID) { self.id = id }

    // MARK: Entries

    /// Takes the next entry about this peripheral.
    mutating func take(_ entry: RecordedEntry) {
        switch entry.what {
        case .known:
            isKnown = true
            advertisement = entry.advertisement ?? advertisement
            if entry.isOn == true { begin(at: entry.time) }
        case .advertisement:
            if appeared == nil { appeared = entry.time }
            if appeared == entry.time { advertisement = entry.advertisement ?? advertisement }
        case .linkEnded: end(at: entry.time, entry.error)
        case .servicesChanged:
            isStale = true
            guard hasLink, !databases.isEmpty else { break }
            // A discovery on this link tells what they became.
            links[links.count - 1].events.append(
                (entry.time - links[links.count - 1].began, .servicesChanged(current)))
        case .value:
            guard let handle = entry.handle, let value = entry.value else { break }
            guard let (place, position) = subscribed[handle], let began = subscriptions[place]?[position].began
            else { break }
            subscriptions[place]?[position].values.append((max(entry.time - began, .zero), value))
        case .subscribe, .subscribeSocket:
            open(entry)
            guard let handle = entry.handle else { break }
            let place = Place(database: current, handle: handle)
            let position = subscriptions[place, default: []].count
            subscriptions[place, default: []].append(Subscription(began: entry.time))
            subscribed[handle] = (place, position)
            if let call = entry.call { pending[call]?.position = position }
        case .openChannel:
            let psm = entry.number ?? 0
            channels[psm, default: []].append(Channel(began: entry.time))
            if let call = entry.call { openChannels[call] = (psm, channels[psm, default: []].count - 1) }
            open(entry)
        case .connect, .discover, .attMTU, .signalStrength, .read, .write, .reliableWrite, .readDescriptor,
            .writeDescriptor, .pair, .disconnect:
            open(entry)
        default: break
        }
    }

    private var current: Int { max(databases.count - 1, 0) }

    private mutating func open(_ entry: RecordedEntry) {
        guard let call = entry.call else { return }
        pending[call] = Call(entry: entry, place: entry.handle.map { Place(database: current, handle: $0) })
    }

    /// Takes the reply to a call about this peripheral.
    mutating func take(reply: RecordedEntry, to call: Int) {
        guard let found = pending.removeValue(forKey: call) else { return }
        let (begun, place) = (found.entry, found.place)
        let result: Result<[UInt8], BLEError> = reply.error.map { .failure($0) } ?? .success(reply.value ?? [])
        let outcome = Outcome(delay: reply.time - begun.time, result: result)
        switch begun.what {
        case .connect:
            connects.append(outcome)
            if reply.error == nil { begin(at: reply.time) }
        case .disconnect: if reply.error == nil { hasLink = false }
        case .discover:
            discoveries.append(outcome)
            guard let services = reply.services else { break }
            if databases.last != services { databases.append(services) }
            if isStale, hasLink { links[links.count - 1].discovered(current) }
            isStale = false
        case .attMTU: attMTU = reply.number ?? attMTU
        case .read, .readDescriptor:
            guard let place else { break }
            var read = outcome
            if let offset = begun.offset, case .success(let part) = result {
                // The handler of a peripheral returns whole values.
                read.result = .success(start(of: place, offset) + part)
            }
            reads[place, default: []].append(read)
        case .write, .reliableWrite, .writeDescriptor: if let place { writes[place, default: []].append(outcome) }
        case .pair: pairings.append(outcome)
        case .subscribe, .subscribeSocket:
            guard let place, let position = found.position else { break }
            subscriptions[place]?[position].outcome = outcome
            if begun.what == .subscribeSocket, let error = reply.error {
                subscriptions[place]?[position].isReplaced = error.isRefusedSocket
            }
        case .openChannel:
            guard let (psm, position) = openChannels[call] else { break }
            guard reply.error != nil else {
                channels[psm]?[position].maximumLength = reply.number.flatMap { 23...65535 ~= $0 ? $0 : nil }
                break
            }
            openChannels[call] = nil
            channels[psm]?[position].isRefused = true
        default: break
        }
    }

    /// Returns what the last read of a place says about the bytes before an offset, and zeros for what is not known. No
    /// value is longer than 512 bytes.
    private func start(of place: Place, _ offset: Int) -> [UInt8] {
        let count = min(offset, 512)
        guard case .success(let value)? = reads[place]?.last?.result else { return [UInt8](repeating: 0, count: count) }
        return value.prefix(count) + [UInt8](repeating: 0, count: max(count - value.count, 0))
    }

    /// Takes a packet that came out of a channel, or the channel's end.
    mutating func take(channel entry: RecordedEntry, of call: Int) {
        guard let (psm, position) = openChannels[call], let began = channels[psm]?[position].began else { return }
        if entry.what == .packetReceived, let value = entry.value {
            channels[psm]?[position].packets.append((entry.time - began, value))
        } else if entry.what == .channelEnded {
            if entry.error == nil { channels[psm]?[position].end = entry.time - began }
            openChannels[call] = nil
        }
    }

    /// The peripheral after the last entry: without subscriptions that others have replaced, and channels that were
    /// refused. Nothing accepts channels where none was opened.
    var complete: ReplayedPeripheral {
        var complete = self
        complete.subscriptions = subscriptions.mapValues { $0.filter { !$0.isReplaced } }
        complete.channels = channels.mapValues { $0.filter { !$0.isRefused } }.filter { !$0.value.isEmpty }
        return complete
    }

    /// Whether it was ever there: heard, known, or connected to.
    var wasThere: Bool { isKnown || appeared != nil || !links.isEmpty }

    /// Bluetooth has stopped, and with it the link.
    mutating func lose() { hasLink = false }

    private mutating func begin(at time: Duration) {
        guard !hasLink else { return }
        hasLink = true
        isStale = true
        links.append(Link(database: current, began: time))
    }

    private mutating func end(at time: Duration, _ error: BLEError?) {
        guard hasLink else { return }
        hasLink = false
        // What the program ends itself, it ends again.
        guard let error, error.disconnectReason != .local else { return }
        links[links.count - 1].events.append((time - links[links.count - 1].began, .ended(error)))
    }
}

extension ReplayedPeripheral.Link {
    /// The services were discovered for the first time on the link, or since they changed.
    fileprivate mutating func discovered(_ position: Int) {
        defer { settled = events.count }
        guard !events.isEmpty else {
            database = position
            return
        }
        for index in events.indices.reversed() {
            guard case .servicesChanged = events[index].event, index >= settled else { break }
            events[index].event = .servicesChanged(position)
        }
    }
}

extension Recording {
    /// The peripherals of the recording, in the order in which they are first mentioned.
    var peripherals: [ReplayedPeripheral] {
        var order: [DeviceID] = []
        var found: [DeviceID: ReplayedPeripheral] = [:]
        var calls: [Int: DeviceID] = [:]
        // Those that may have a link.
        var mentioned: Set<DeviceID> = []
        for entry in entries {
            switch entry.what {
            case .reply:
                guard let call = entry.call, let id = calls[call] else { break }
                mentioned.insert(id)
                found[id]?.take(reply: entry, to: call)
            case .packetReceived, .channelEnded:
                guard let call = entry.call, let id = calls[call] else { break }
                found[id]?.take(channel: entry, of: call)
            case .stackLost:
                for id in mentioned { found[id]?.lose() }
                mentioned = []
            default:
                guard !entry.what.isOfHost, let id = entry.peripheral else { break }
                if found[id] == nil {
                    order.append(id)
                    found[id] = ReplayedPeripheral(id)
                }
                if let call = entry.call { calls[call] = id }
                mentioned.insert(id)
                found[id]?.take(entry)
            }
        }
        return order.compactMap { found[$0]?.complete }
    }
}
