import BLE

/// The devices that a gateway has heard, and what it tells the broker of them.
///
/// A value is published when it changes, but for each device at most once in ``minimumInterval``, and again after
/// ``maximumInterval`` without a change. A device that is silent for its expiry becomes unavailable. Times are those
/// since the gateway has started.
struct DeviceTable: Sendable {
    /// What is known of a device.
    private struct Device: Sendable {
        let entry: ListedDevice
        let peripheral: Peripheral.ID
        var name: String
        var fields: [String: DeviceField] = [:]
        var rssi: Int?
        var heard: Duration
        var published: Duration?
        var announced: Duration?
        var hasChanged = true
        var isAvailable = false
        /// Whether there is a link. A peripheral with a link does not advertise, and is available.
        var isConnected = false

        /// Takes fields, and returns whether a value has changed.
        ///
        /// A field keeps its kind and its unit. Another one of that name has them in its own name: `mass lb`.
        mutating func merge(_ new: [DeviceField]) -> Bool {
            var hasChanged = false
            for field in new {
                let names = [field, field.withKindInName]
                guard let field = names.first(where: { fields[$0.id]?.isLike($0) ?? true }) else { continue }
                let known = fields[field.id]
                guard known?.value != field.value, known != nil || fields.count < DeviceTable.maximumFields else {
                    continue
                }
                fields[field.id] = field
                hasChanged = true
            }
            return hasChanged
        }

        func isDue(at now: Duration) -> Bool {
            guard let published else { return true }
            return now - published >= (hasChanged ? DeviceTable.minimumInterval : DeviceTable.maximumInterval)
        }
    }

    static let minimumInterval: Duration = .seconds(1)
    static let maximumInterval: Duration = .seconds(60)
    /// The maximum number of devices for one entry of the list: any peripheral can claim a name, a company or a
    /// service.
    static let maximumDevices = 64
    /// The maximum number of values of a device.
    static let maximumFields = 64

    private let topics: GatewayTopics
    private var devices: [String: Device] = [:]
    /// The number of devices by the key of their entry.
    private var counts: [String: Int] = [:]
    /// Whether a change waits for the end of ``minimumInterval``.
    private(set) var isWaiting = false

    init(_ topics: GatewayTopics) { self.topics = topics }

    /// The number of devices that have been heard.
    var count: Int { devices.count }

    /// Returns the peripheral of a device that has been heard.
    func peripheral(_ device: String) -> Peripheral.ID? { devices[device]?.peripheral }

    // MARK: Changes

    /// Takes an advertisement of a listed device.
    mutating func hear(
        _ peripheral: Peripheral.ID, _ entry: ListedDevice, _ advertisement: Advertisement, at now: Duration
    ) -> [GatewayMessage] {
        let fields = DeviceField.fields(of: advertisement, from: peripheral, key: entry.bthomeKey)
        return change(peripheral, entry, name: advertisement.localName, at: now) { device in
            device.rssi = advertisement.rssi ?? device.rssi
            return device.merge(fields)
        }
    }

    /// Takes the value of a characteristic.
    mutating func take(
        _ fields: [DeviceField], from peripheral: Peripheral.ID, _ entry: ListedDevice, at now: Duration
    ) -> [GatewayMessage] {
        change(peripheral, entry, name: nil, at: now) { $0.merge(fields) }
    }

    /// Takes the beginning or the end of a link. After its end, the device is available for its expiry.
    mutating func setConnected(
        _ isConnected: Bool, _ peripheral: Peripheral.ID, _ entry: ListedDevice, at now: Duration
    ) -> [GatewayMessage] {
        let id = GatewayTopics.device(peripheral)
        // A failed attempt to connect ends no link.
        guard devices[id]?.isConnected ?? false != isConnected else { return [] }
        guard isConnected else {
            devices[id]?.isConnected = false
            devices[id]?.heard = now
            return []
        }
        return change(peripheral, entry, name: nil, at: now) { device in
            device.isConnected = true
            return false
        }
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
        let id = GatewayTopics.device(peripheral)
        let known = devices[id]
        guard known != nil || counts[entry.key, default: 0] < Self.maximumDevices else { return [] }
        let name = name.flatMap { $0.isEmpty ? nil : $0.excerpt }
        var device =
            known
            ?? Device(entry: entry, peripheral: peripheral, name: entry.name ?? name ?? peripheral.rawValue, heard: now)
        var isRenamed = false
        if device.entry.name == nil, let name, name != device.name,
            device.announced.map({ now - $0 >= Self.maximumInterval }) ?? true
        {
            (device.name, isRenamed) = (name, true)
        }
        let ids = Set(device.fields.keys)
        device.heard = now
        if body(&device) { device.hasChanged = true }
        var messages: [GatewayMessage] = []
        if known == nil || isRenamed || ids != Set(device.fields.keys) {
            device.announced = now
            messages += announcement(id, device)
        }
        if !device.isAvailable {
            device.isAvailable = true
            messages.append(availability(id, device))
        }
        if device.isDue(at: now) { messages.append(state(id, &device, at: now)) }
        if device.hasChanged { isWaiting = true }
        devices[id] = device
        if known == nil { counts[entry.key, default: 0] += 1 }
        return messages
    }

    /// Returns what is due because time has passed.
    mutating func pass(to now: Duration) -> [GatewayMessage] {
        var messages: [GatewayMessage] = []
        isWaiting = false
        for (id, var device) in devices {
            if device.isAvailable, !device.isConnected, now - device.heard >= device.entry.expiry {
                device.isAvailable = false
                messages.append(availability(id, device))
                devices[id] = device
            } else if device.isAvailable, device.isDue(at: now) {
                messages.append(state(id, &device, at: now))
                devices[id] = device
            }
            if device.hasChanged, device.isAvailable { isWaiting = true }
        }
        return messages
    }

    /// Returns everything that is known, for a broker or a subscriber that knows nothing.
    mutating func everything(at now: Duration) -> [GatewayMessage] {
        var messages: [GatewayMessage] = []
        for id in devices.keys.sorted() {
            guard var device = devices[id] else { continue }
            messages += announcement(id, device)
            messages.append(availability(id, device))
            if device.isAvailable { messages.append(state(id, &device, at: now)) }
            devices[id] = device
        }
        return messages
    }

    // MARK: Messages

    private func announcement(_ id: String, _ device: Device) -> [GatewayMessage] {
        let origin = JSON.object([
            "gateway": .string(topics.gateway), "entry": .string(device.entry.key),
            "address": .string(device.peripheral.rawValue),
        ])
        var messages = [GatewayMessage(topic: topics.origin(id), payload: origin.text)]
        if let topic = topics.discovery(id) {
            let announcement = HomeAssistant.announcement(
                id, device.name, Array(device.fields.values), topics)
            messages.append(GatewayMessage(topic: topic, payload: announcement.text))
        }
        return messages
    }

    private func availability(_ id: String, _ device: Device) -> GatewayMessage {
        GatewayMessage(topic: topics.availability(id), payload: device.isAvailable ? "online" : "offline")
    }

    private func state(_ id: String, _ device: inout Device, at now: Duration) -> GatewayMessage {
        device.published = now
        device.hasChanged = false
        var values = device.fields.mapValues(\.value.json)
        values["rssi"] = .optional(device.rssi, JSON.int)
        return GatewayMessage(
            topic: topics.values(id), payload: JSON.object(values).text,
            expiry: max(device.entry.expiry, Self.maximumInterval * 2))
    }

    /// Returns the messages that remove a device from the broker.
    static func removal(of id: String, _ topics: GatewayTopics) -> [GatewayMessage] {
        [topics.discovery(id), topics.values(id), topics.availability(id), topics.origin(id)].compactMap { topic in
            topic.map { GatewayMessage(topic: $0, payload: "") }
        }
    }
}
