import BLE

/// A message for the broker.
struct GatewayMessage: Equatable, Sendable {
    let topic: String
    /// Text. Empty to remove a retained message.
    var payload: String
    /// Whether the broker keeps the message for later subscribers.
    var isRetained = true
    /// How long the broker keeps it. Nil for no limit.
    var expiry: Duration?
    /// Whether it is said again soon, so that its loss does not matter.
    var isRepeated = false
    /// The data by which the sender of a command recognizes the answer.
    var correlation: [UInt8]?
}

/// A message from the broker.
struct ReceivedMessage: Sendable {
    var topic: String
    var payload: [UInt8]
    /// Whether the message had been kept by the broker.
    var isRetained = false
    /// The sender's name for a command.
    var commandID: String?
    /// The topic that the sender of a command expects the answer on.
    var responseTopic: String?
    var correlation: [UInt8]?
}

/// The topics of a gateway. Docs/Gateway.md lists them.
struct GatewayTopics: Sendable {
    let prefix: String
    let gateway: String
    let discovery: String?

    init(_ configuration: GatewayConfiguration) {
        (prefix, gateway, discovery) = (configuration.prefix, configuration.id, configuration.discoveryPrefix)
    }

    /// `online` while the gateway runs, otherwise `offline`.
    var state: String { "\(prefix)/gateway/\(gateway)/state" }
    /// Whether Home Assistant runs.
    var homeAssistantState: String? { discovery.map { "\($0)/status" } }

    /// How this gateway hears a device, for the other gateways.
    func seen(_ device: String) -> String { "\(prefix)/seen/\(device)/\(gateway)" }
    /// How all gateways hear a device.
    func sightings(_ device: String) -> String { "\(prefix)/seen/\(device)/+" }
    /// The entry of a device that this gateway publishes, by which it knows later what it has published.
    func own(_ device: String) -> String { "\(prefix)/gateway/\(gateway)/device/\(device)" }
    /// The states of all gateways.
    var states: String { "\(prefix)/gateway/+/state" }

    func values(_ device: String) -> String { "\(prefix)/device/\(device)/state" }
    func availability(_ device: String) -> String { "\(prefix)/device/\(device)/availability" }
    /// The device's entry in the list, and the gateway that publishes it.
    func origin(_ device: String) -> String { "\(prefix)/device/\(device)/origin" }
    /// Where the events of a part of the device are published.
    func event(_ device: String, _ source: DeviceEvent.Source) -> String {
        "\(prefix)/device/\(device)/event/\(source.id)"
    }
    func command(_ device: String) -> String { "\(prefix)/device/\(device)/command" }
    func result(_ device: String) -> String { "\(prefix)/device/\(device)/result" }
    func discovery(_ device: String) -> String? { discovery.map { "\($0)/device/\(identifier(device))/config" } }

    /// The identifier of a device in Home Assistant, unique among all integrations.
    ///
    /// It accepts letters, digits, hyphens and underscores.
    func identifier(_ device: String) -> String {
        let prefix = prefix.map { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") ? $0 : "_" }
        return "\(String(prefix))_\(device)"
    }

    /// Whether a topic is one of gateways or of Home Assistant, in which a result would say something else.
    func isOwn(_ topic: String) -> Bool {
        topic.hasPrefix("$") || topic.hasPrefix("\(prefix)/") && !topic.hasSuffix("/result")
            || discovery.map { topic.hasPrefix("\($0)/") } ?? false
    }

    /// Returns the device in a topic such as `ble/device/c47c8d000001/command`. Nil for another topic.
    func device(in topic: String, _ last: String) -> String? { level(of: topic, after: "device", before: last) }

    /// Returns the gateway in a topic such as `ble/gateway/kitchen/state`. Nil for another topic.
    func gateway(in topic: String) -> String? { level(of: topic, after: "gateway", before: "state") }

    /// Returns the device in a topic that says that this gateway publishes it. Nil for another topic.
    func own(in topic: String) -> String? {
        let start = own("")
        guard topic.hasPrefix(start), topic.utf8.count > start.utf8.count else { return nil }
        let device = topic.dropFirst(start.count)
        return device.contains("/") ? nil : String(device)
    }

    /// Returns the device and the gateway in a topic such as `ble/seen/c47c8d000001/kitchen`. Nil for another topic.
    func sighting(in topic: String) -> (device: String, gateway: String)? {
        let start = "\(prefix)/seen/"
        guard topic.hasPrefix(start) else { return nil }
        let levels = topic.dropFirst(start.count).split(separator: "/", omittingEmptySubsequences: false)
        guard levels.count == 2, !levels.contains("") else { return nil }
        return (String(levels[0]), String(levels[1]))
    }

    private func level(of topic: String, after first: String, before last: String) -> String? {
        let (start, end) = ("\(prefix)/\(first)/", "/\(last)")
        guard topic.hasPrefix(start), topic.hasSuffix(end), topic.utf8.count > start.utf8.count + end.utf8.count else {
            return nil
        }
        let level = topic.dropFirst(start.count).dropLast(end.count)
        return level.contains("/") ? nil : String(level)
    }

    /// The part of a topic that stands for a peripheral: its address without colons, in lowercase.
    static func device(_ peripheral: Peripheral.ID) -> String {
        SensorReading.id(peripheral.rawValue, separator: nil)
    }
}
