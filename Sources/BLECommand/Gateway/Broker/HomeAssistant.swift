import BLE
import BLEDefinitions

/// Home Assistant's announcements of devices (MQTT integration, "Device discovery payload").
enum HomeAssistant {
    /// Returns the announcement of a device with its fields and the parts that have events.
    static func announcement(
        _ id: String, _ name: String, _ fields: [SensorReading], _ sources: Set<DeviceEvent.Source>,
        _ topics: GatewayTopics
    ) -> JSON {
        let identifier = topics.identifier(id)
        var components: [String: JSON] = ["rssi": strength(identifier)]
        for field in fields { components[field.id] = component(field, identifier) }
        // No field has a hyphen in its id.
        for source in sources { components["event-\(source.id)"] = component(source, id, topics) }
        return .object([
            "dev": .object(["ids": .string(identifier), "name": .string(name)]),
            "o": .object([
                "name": .string("swift-ble"), "sw": .string(Central.version),
            ]),
            "cmps": .object(components),
            "stat_t": .string(topics.values(id)),
            "avty": .array([
                .object(["t": .string(topics.state)]), .object(["t": .string(topics.availability(id))]),
            ]),
            "avty_mode": "all",
            "qos": 1,
        ])
    }

    private static func strength(_ identifier: String) -> JSON {
        .object([
            "p": "sensor", "uniq_id": .string("\(identifier)_rssi"), "name": "signal strength",
            "dev_cla": "signal_strength", "unit_of_meas": "dBm", "stat_cla": "measurement", "ent_cat": "diagnostic",
            "en": false, "val_tpl": "{{ value_json.rssi }}", "default_entity_id": .string("sensor.\(identifier)_rssi"),
        ])
    }

    /// The longest state that Home Assistant accepts, in characters.
    private static let maximumLength = 255

    private static func component(_ field: SensorReading, _ identifier: String) -> JSON {
        let id = "\(identifier)_\(field.id)"
        var component: [String: JSON] = [
            "uniq_id": .string(id), "name": .string(field.name),
            "val_tpl": .string("{{ value_json['\(field.id)'] | default(none) }}"),
        ]
        switch field.value {
        case .flag:
            component["p"] = "binary_sensor"
            component["dev_cla"] = .optional(flagClasses[base(field.name)])
            // The template writes a Boolean in Python's form.
            let isInverted = invertedFlags.contains(base(field.name))
            component["pl_on"] = isInverted ? "False" : "True"
            component["pl_off"] = isInverted ? "True" : "False"
        case .number:
            component["p"] = "sensor"
            let known = field.unit.flatMap { numberClasses[Kind(base(field.name), $0)] }
            component["dev_cla"] = .optional(known)
            component["unit_of_meas"] = .optional(field.unit)
            let isTotal = known.map(totals.contains) ?? false
            component["stat_cla"] = isTotal ? "total_increasing" : "measurement"
        case .text:
            component["p"] = "sensor"
            let value = "value_json['\(field.id)']"
            component["val_tpl"] = .string("{{ \(value)[:\(maximumLength)] if \(value) is string else none }}")
        }
        component["default_entity_id"] = .string("\(field.value.isFlag ? "binary_sensor" : "sensor").\(id)")
        return .object(component.filter { $0.value != .null })
    }

    /// A part of a device that has events (MQTT event integration).
    private static func component(_ source: DeviceEvent.Source, _ device: String, _ topics: GatewayTopics) -> JSON {
        let identifier = topics.identifier(device)
        var component: [String: JSON] = [
            "p": "event", "uniq_id": .string("\(identifier)_event-\(source.id)"), "name": .string(source.name),
            "stat_t": .string(topics.event(device, source)),
            "evt_typ": .array(source.kind.types.map { .string($0) }),
            "default_entity_id": .string("event.\(identifier)_\(source.id)"),
        ]
        if source.kind == .button { component["dev_cla"] = "button" }
        return .object(component)
    }

    /// The name without the number of a further field, as in `temperature 2`.
    private static func base(_ name: String) -> String {
        guard let space = name.lastIndex(of: " "), Int(name[name.index(after: space)...]) != nil else {
            return name.lowercased()
        }
        return name[..<space].lowercased()
    }

    private struct Kind: Hashable {
        let name: String
        let unit: String
        init(_ name: String, _ unit: String) { (self.name, self.unit) = (name, unit) }
    }

    /// Classes that only grow.
    private static let totals: Set<String> = ["energy", "gas", "water"]

    /// Home Assistant's classes of numbers, with a unit that the class allows (sensor integration, "Device class").
    private static let numberClasses: [Kind: String] = {
        let rows: [(name: String, unit: String, kind: String)] = [
            ("temperature", "°C", "temperature"), ("dew point", "°C", "temperature"),
            ("humidity", "%", "humidity"), ("moisture", "%", "moisture"), ("battery", "%", "battery"),
            ("battery level", "%", "battery"), ("pressure", "hPa", "atmospheric_pressure"),
            ("illuminance", "lx", "illuminance"), ("mass", "kg", "weight"), ("mass", "lb", "weight"),
            ("energy", "kWh", "energy"), ("power", "W", "power"), ("voltage", "V", "voltage"),
            ("current", "A", "current"), ("pm2.5", "µg/m³", "pm25"), ("pm10", "µg/m³", "pm10"),
            ("carbon dioxide", "ppm", "carbon_dioxide"),
            ("volatile organic compounds", "µg/m³", "volatile_organic_compounds"),
            ("distance", "mm", "distance"), ("distance", "m", "distance"), ("duration", "s", "duration"),
            ("speed", "m/s", "speed"), ("volume storage", "L", "volume_storage"),
            ("volume flow rate", "m³/h", "volume_flow_rate"), ("gas", "m³", "gas"), ("water", "L", "water"),
            ("conductivity", "µS/cm", "conductivity"), ("precipitation", "mm", "precipitation"),
        ]
        return Dictionary(uniqueKeysWithValues: rows.map { (Kind($0.name, $0.unit), $0.kind) })
    }()

    /// The flags that are on in BTHome when they are off in Home Assistant: its `safety` is on if something is unsafe.
    private static let invertedFlags: Set<String> = ["safety"]

    /// Home Assistant's classes of flags (binary sensor integration, "Device class"), by BTHome's names.
    private static let flagClasses: [String: String] = [
        "battery low": "battery", "battery charging": "battery_charging", "carbon monoxide": "carbon_monoxide",
        "cold": "cold", "connectivity": "connectivity", "door": "door", "garage door": "garage_door", "gas": "gas",
        "heat": "heat", "light": "light", "lock": "lock", "moisture": "moisture", "motion": "motion",
        "moving": "moving", "occupancy": "occupancy", "opening": "opening", "plug": "plug", "power": "power",
        "presence": "presence", "problem": "problem", "running": "running", "safety": "safety", "smoke": "smoke",
        "sound": "sound", "tamper": "tamper", "vibration": "vibration", "window": "window",
    ]
}

extension SensorReading.Value {
    fileprivate var isFlag: Bool { if case .flag = self { true } else { false } }
}
