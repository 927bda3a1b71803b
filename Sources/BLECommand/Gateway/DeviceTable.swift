import BLE
import BLEBTHome
import BLEDefinitions

/// The devices that a gateway has heard, and what it tells the broker of them.
///
/// A value is published when it changes, but for each device at most once in ``minimumInterval``, and again after
/// ``maximumInterval`` without a change. A device that is silent for its expiry becomes unavailable. Times are those
/// since the gateway has started.
struct DeviceTable: Sendable {
    static let minimumInterval: Duration = .seconds(1)
    static let maximumInterval: Duration = .seconds(60)
    /// The minimum time between two announcements of a device.
    ///
    /// Home Assistant ignores a part of the next one while it works on one; see Docs/Decisions/0015-gateway.md.
    static let announcementInterval: Duration = .seconds(5)
    /// The maximum number of devices for one entry of the list: any peripheral can claim a name, a company or a
    /// service.
    static let maximumDevices = 64
    /// The maximum number of values of a device.
    static let maximumFields = 64
    /// The maximum number of parts of a device that have events.
    static let maximumSources = 16
    /// The maximum number of events of a device in a second.
    static let maximumEvents = 20
    /// How long the broker keeps an event for a subscriber that is away: a light should not be switched on later.
    static let eventExpiry: Duration = .seconds(10)

    private let topics: GatewayTopics
    private(set) var devices: [String: Device] = [:]
    /// The division of the devices among several gateways. Nil for a gateway that is alone.
    private var fleet: Fleet?
    /// What follows from changes besides messages, since it was last taken.
    private var consequences = Consequences()
    /// Whether there may be a link to a device with values, as was last told.
    private var links: [String: Bool] = [:]
    /// The number of devices by the key of their entry.
    private var counts: [String: Int] = [:]
    /// When an entry that stands for many had no place for another device, for the first time since that was told, and
    /// when it was told last.
    private var full: [String: (due: Bool, told: Duration?)] = [:]
    /// Whether a change waits for the end of ``minimumInterval``.
    private(set) var isWaiting = false

    /// - Parameter isFleet: whether several gateways on the broker share the devices.
    init(_ topics: GatewayTopics, isFleet: Bool = false) {
        self.topics = topics
        fleet = isFleet ? Fleet(topics.gateway) : nil
    }

    /// The number of devices that have been heard.
    var count: Int { devices.count }

    /// Returns the peripheral of a device that has been heard.
    func peripheral(_ device: String) -> Peripheral.ID? { devices[device]?.peripheral }

    /// Returns the entry of a peripheral that has been heard. It keeps the entry that its first advertisement had.
    func entry(of peripheral: Peripheral.ID) -> ListedDevice? { devices[GatewayTopics.device(peripheral)]?.entry }

    // MARK: Changes

    /// Takes an advertisement of a listed device. A report that was recorded, and is sent again, is ignored, and so is
    /// what another device may have sent in the name of one with a key.
    mutating func hear(
        _ peripheral: Peripheral.ID, _ entry: ListedDevice, _ advertisement: Advertisement, at now: Duration
    ) -> [GatewayMessage] {
        let id = entry.topic(of: peripheral)
        let report = DeviceReport(of: advertisement, from: peripheral, entry, after: devices[id]?.report)
        guard report.isTrusted else { return [] }
        var history = devices[id]?.history ?? ReportHistory()
        let order = history.take(report, at: now)
        guard order != .outdated else {
            devices[id]?.history = history
            devices[id]?.report = report
            return []
        }
        var events: [DeviceEvent] = []
        let messages = change(peripheral, entry, name: advertisement.localName, at: now) { device in
            device.history = history
            // It is needed only where decoding is costly.
            device.report = entry.bthomeKey == nil ? nil : report
            device.rssi = advertisement.rssi ?? device.rssi
            // What the system remembers is no new event.
            events = device.take(order == .new && report.isReceived ? report.events : [], at: now)
            return device.merge(report.fields)
        }
        let published = messages + (isPublished(id) ? events.map { event(id, $0) } : [])
        guard fleet != nil, devices[id] != nil else { return published }
        let isPinned = entry.gateway == topics.gateway
        fleet?.hear(id, strength: advertisement.rssi, isPinned: isPinned, at: now)
        return published + settle(id, at: now)
    }

    /// Takes the value of a characteristic.
    mutating func take(
        _ fields: [SensorReading], from peripheral: Peripheral.ID, _ entry: ListedDevice, at now: Duration
    ) -> [GatewayMessage] {
        change(peripheral, entry, name: nil, at: now) { $0.merge(fields) }
    }

    /// Whether a device is known, and its name is not.
    func isUnnamed(_ id: String) -> Bool { devices[id]?.isUnnamed ?? false }

    /// Takes the name that a peripheral has told on a link.
    mutating func setName(
        _ name: String, of peripheral: Peripheral.ID, _ entry: ListedDevice, at now: Duration
    ) -> [GatewayMessage] {
        change(peripheral, entry, name: name, at: now) { _ in false }
    }

    /// Takes the beginning or the end of a link. After its end, the device is available for its expiry.
    mutating func setConnected(
        _ isConnected: Bool, _ peripheral: Peripheral.ID, _ entry: ListedDevice, at now: Duration
    ) -> [GatewayMessage] {
        let id = entry.topic(of: peripheral)
        // A failed attempt to connect ends no link.
        guard devices[id]?.isConnected ?? false != isConnected else { return [] }
        fleet?.setLinked(isConnected, id, at: now)
        guard isConnected else {
            devices[id]?.isConnected = false
            devices[id]?.heard = now
            return settle(id, at: now)
        }
        let messages = change(peripheral, entry, name: nil, at: now) { device in
            device.isConnected = true
            return false
        }
        return messages + settle(id, at: now)
    }

    /// Returns the availability of a device that an earlier run of this gateway has published, if it was not heard
    /// since.
    func missing(_ id: String) -> [GatewayMessage] {
        devices[id] == nil ? [GatewayMessage(topic: topics.availability(id), payload: "offline")] : []
    }

    /// Applies a change, and returns what follows from it.
    private mutating func change(
        _ peripheral: Peripheral.ID, _ entry: ListedDevice, name: String?, at now: Duration,
        _ body: (inout Device) -> Bool
    ) -> [GatewayMessage] {
        let id = entry.topic(of: peripheral)
        let known = devices[id]
        var messages: [GatewayMessage] = []
        if known == nil, counts[entry.key, default: 0] >= Self.maximumDevices {
            guard let removed = removeSilent(of: entry.key) else {
                full[entry.key, default: (false, nil)].due = true
                return []
            }
            messages = removed
        }
        let name = name.flatMap { $0.isEmpty ? nil : $0.excerpt }
        var device =
            known
            ?? Device(
                entry: entry, peripheral: peripheral, name: entry.name ?? name ?? entry.placeholder(for: peripheral),
                heard: now)
        if device.entry.name == nil, let name { device.advertisedName = name }
        device.takeName(at: now)
        device.peripheral = peripheral
        let count = device.fields.count + device.sources.count
        device.heard = now
        if body(&device) { device.hasChanged = true }
        if device.fields.count + device.sources.count > count { device.needsAnnouncement = true }
        if known == nil { counts[entry.key, default: 0] += 1 }
        guard isPublished(id) else {
            (device.isAvailable, device.hasChanged) = (true, true)
            devices[id] = device
            return messages
        }
        if known == nil { messages += identity(id, device) }
        if device.isAnnouncementDue(at: now) { messages += announcement(id, &device, at: now) }
        if !device.isAvailable {
            device.isAvailable = true
            messages.append(availability(id, device))
        }
        if device.isDue(at: now) { messages.append(state(id, &device, at: now)) }
        if device.isWaiting { isWaiting = true }
        devices[id] = device
        return messages
    }

    /// Forgets the device of an entry that has been unavailable for longest, and returns the messages that remove it.
    /// Nil if there is none.
    private mutating func removeSilent(of entry: String) -> [GatewayMessage]? {
        let silent = devices.filter { $0.value.entry.key == entry && !$0.value.isAvailable && !$0.value.isConnected }
        guard let id = silent.min(by: { ($0.value.heard, $0.key) < ($1.value.heard, $1.key) })?.key else { return nil }
        let messages = isPublished(id) ? Self.removal(of: id, topics) : []
        devices[id] = nil
        links[id] = nil
        counts[entry, default: 1] -= 1
        if fleet?.forget(id) == true { consequences.followed.append((id, false)) }
        return messages
    }

    /// Returns what is due because time has passed.
    mutating func pass(to now: Duration) -> [GatewayMessage] {
        var messages: [GatewayMessage] = []
        isWaiting = false
        for (id, var device) in devices {
            if device.advertisedName != nil {
                device.takeName(at: now)
                devices[id] = device
            }
            if device.isAnnouncementDue(at: now), isPublished(id) {
                messages += announcement(id, &device, at: now)
                devices[id] = device
            }
            if device.isAvailable, !device.isConnected, now - device.heard >= device.entry.expiry {
                device.isAvailable = false
                if isPublished(id) { messages.append(availability(id, device)) }
                devices[id] = device
            } else if device.isAvailable, device.isDue(at: now), isPublished(id) {
                // The former owner may have said otherwise at the same time.
                if fleet != nil, !device.hasChanged { messages.append(availability(id, device)) }
                messages.append(state(id, &device, at: now))
                devices[id] = device
            }
            if device.isWaiting, isPublished(id) { isWaiting = true }
            if fleet != nil { messages += settle(id, at: now) }
        }
        return messages
    }

    /// Returns everything that is known, for a broker or a subscriber that knows nothing.
    mutating func everything(at now: Duration) -> [GatewayMessage] {
        var messages: [GatewayMessage] = []
        for id in devices.keys.sorted() { messages += everything(of: id, at: now) + settle(id, at: now) }
        return messages
    }

    private mutating func everything(of id: String, at now: Duration) -> [GatewayMessage] {
        guard var device = devices[id], isPublished(id) else { return [] }
        var messages = identity(id, device) + announcement(id, &device, at: now)
        messages.append(availability(id, device))
        if device.isAvailable { messages.append(state(id, &device, at: now)) }
        devices[id] = device
        return messages
    }

    // MARK: Several gateways

    /// Takes what follows from changes besides messages.
    mutating func takeConsequences() -> Consequences {
        defer { consequences = Consequences() }
        return consequences
    }

    /// Takes the beginning or the end of the connection to the broker.
    mutating func setConnected(_ isConnected: Bool, at now: Duration) -> [GatewayMessage] {
        fleet?.setConnected(isConnected, at: now)
        return isConnected ? everything(at: now) : []
    }

    /// The broker has begun to tell of other gateways.
    mutating func listens(at now: Duration) { fleet?.listens(at: now) }

    /// The broker has begun to tell what other gateways tell of a device.
    mutating func listens(to id: String, at now: Duration) { fleet?.listens(to: id, at: now) }

    /// Takes the state of another gateway. Its devices are taken over some seconds after it has gone.
    mutating func setOnline(_ isOnline: Bool, _ other: String, at now: Duration) {
        fleet?.setOnline(isOnline, other, at: now)
    }

    /// Takes a claim. Nil if the device was removed from the broker.
    mutating func setOwner(_ owner: String?, of id: String, at now: Duration) -> [GatewayMessage] {
        guard fleet != nil else { return [] }
        let wasPublished = isPublished(id)
        fleet?.setOwner(owner, of: id, at: now)
        let messages = settle(id, at: now)
        guard wasPublished else { return everything(of: id, at: now) + messages }
        return isPublished(id) ? messages : messages + [GatewayMessage(topic: topics.own(id), payload: "")]
    }

    /// Takes the sighting of another gateway.
    mutating func take(_ sighting: Fleet.Sighting?, of id: String, from other: String, at now: Duration)
        -> [GatewayMessage]
    {
        if fleet?.take(sighting, of: id, from: other, at: now) == true, isPublished(id) {
            // After a loss of the broker, that gateway may have sent a state of the time before.
            devices[id]?.hasChanged = true
            isWaiting = true
        }
        return settle(id, at: now)
    }

    mutating func setBonded(_ isBonded: Bool, _ peripheral: Peripheral.ID) {
        fleet?.setBonded(isBonded, GatewayTopics.device(peripheral))
    }

    /// Whether this gateway performs the commands for a device.
    func performsCommands(_ id: String, isListed: Bool, at now: Duration) -> Bool {
        fleet?.performsCommands(id, isListed: isListed, at: now) ?? true
    }

    /// Whether there may be a link to a device.
    func mayLink(_ id: String, at now: Duration) -> Bool { fleet?.mayLink(id, at: now) ?? true }

    /// Whether this gateway publishes a device.
    func isPublished(_ id: String) -> Bool { fleet?.publishes(id) ?? true }

    /// Returns what this gateway has to tell the others about a device: how it hears it, and that it claims it.
    private mutating func settle(_ id: String, at now: Duration) -> [GatewayMessage] {
        guard let device = devices[id], var fleet else { return [] }
        self.fleet = nil
        defer { self.fleet = fleet }
        var messages: [GatewayMessage] = []
        if let sighting = fleet.dueSighting(id, at: now) {
            messages.append(
                GatewayMessage(
                    topic: topics.seen(id), payload: sighting.json.text, expiry: sighting.expiry, isRepeated: true))
        }
        if let isFollowed = fleet.follows(id, at: now) { consequences.followed.append((id, isFollowed)) }
        if fleet.claims(id, at: now) { messages.append(origin(id, device)) }
        if device.entry.hasLink {
            let isAllowed = fleet.mayLink(id, at: now)
            if links.updateValue(isAllowed, forKey: id) ?? false != isAllowed {
                consequences.links.append((id, isAllowed))
            }
        }
        return messages
    }

    // MARK: Messages

    private func origin(_ id: String, _ device: Device) -> GatewayMessage {
        var origin: [String: JSON] = ["gateway": .string(topics.gateway), "entry": .string(device.entry.key)]
        // An address that changes would soon be wrong.
        if !device.entry.isPrivate { origin["address"] = .string(device.peripheral.rawValue) }
        return GatewayMessage(topic: topics.origin(id), payload: JSON.object(origin).text)
    }

    /// Whose device it is. In a fleet, its origin is a claim.
    private func identity(_ id: String, _ device: Device) -> [GatewayMessage] {
        let own = GatewayMessage(topic: topics.own(id), payload: device.entry.key)
        return fleet == nil ? [origin(id, device), own] : [own]
    }

    private func announcement(_ id: String, _ device: inout Device, at now: Duration) -> [GatewayMessage] {
        (device.announced, device.needsAnnouncement) = (now, false)
        guard let topic = topics.discovery(id) else { return [] }
        let announcement = HomeAssistant.announcement(
            id, device.name, Array(device.fields.values), device.sources, topics)
        return [GatewayMessage(topic: topic, payload: announcement.text)]
    }

    private func availability(_ id: String, _ device: Device) -> GatewayMessage {
        GatewayMessage(topic: topics.availability(id), payload: device.isAvailable ? "online" : "offline")
    }

    private mutating func state(_ id: String, _ device: inout Device, at now: Duration) -> GatewayMessage {
        consequences.states.append(record(id, device))
        device.published = now
        device.hasChanged = false
        var values = device.fields.mapValues(\.value.json)
        values["rssi"] = .optional(device.rssi, JSON.int)
        return GatewayMessage(
            topic: topics.values(id), payload: JSON.object(values).text,
            expiry: max(device.entry.expiry, Self.maximumInterval * 2))
    }

    /// Returns a state for a history. What was not received since the last state has no signal strength.
    private func record(_ id: String, _ device: Device) -> DeviceState {
        let isHeard = !device.isConnected && device.published.map { device.heard > $0 } ?? true
        return DeviceState(
            device: id, entry: device.entry.key, name: device.name, fields: device.fields,
            rssi: isHeard ? device.rssi : nil)
    }

    private func event(_ id: String, _ event: DeviceEvent) -> GatewayMessage {
        GatewayMessage(
            topic: topics.event(id, event.source), payload: event.payload, isRetained: false, expiry: Self.eventExpiry)
    }

    /// Returns what people should know of devices, now and then.
    mutating func notes(at now: Duration) -> [String] {
        var fullNotes: [String] = []
        for (key, state) in full.sorted(by: { $0.key < $1.key }) where state.due {
            full[key]?.due = false
            guard state.told.map({ now - $0 >= ToldTexts.pause }) ?? true else { continue }
            full[key]?.told = now
            fullNotes.append(
                "\(key.excerpt): has \(Self.maximumDevices) peripherals; others are ignored until one of them is "
                    + "silent for its expiry")
        }
        return fullNotes + historyNotes(at: now)
    }

    private mutating func historyNotes(at now: Duration) -> [String] {
        // Of many devices, few have a note.
        let due = devices.filter { $0.value.history.isNoteDue(at: now) }
        return due.keys.sorted().flatMap { id -> [String] in
            guard let counts = devices[id]?.history.takeCounts(at: now), let device = devices[id] else { return [] }
            let (outdated, key) = (counts.outdated, device.entry.key.excerpt)
            var notes: [String] = []
            if counts.restarts > 0 {
                notes.append(
                    "\(key): counts its reports from the beginning: it has restarted, or another device sends "
                        + "its old ones")
            }
            if outdated > 0 {
                notes.append(
                    "\(key): ignored \(outdated) old report\(outdated == 1 ? "" : "s"), sent again by another device, "
                        + "or after a restart of this one; a restart of the gateway accepts any counter")
            }
            return notes
        }
    }

    /// Returns the messages that remove a device from the broker.
    static func removal(of id: String, _ topics: GatewayTopics) -> [GatewayMessage] {
        let topics = [
            topics.discovery(id), topics.values(id), topics.availability(id), topics.origin(id), topics.own(id),
        ]
        return topics.compactMap { topic in
            topic.map { GatewayMessage(topic: $0, payload: "") }
        }
    }
}
