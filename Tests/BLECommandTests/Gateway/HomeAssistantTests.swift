import BLE
import BLEAssignedNumbers
import BLEBTHome
import BLEBeacons
import BLEDefinitions
import Testing

@testable import BLECommand

/// What is announced, compared with what Home Assistant accepts.
struct HomeAssistantTests {
    private let topics = GatewayTopics(GatewayConfiguration(id: "kitchen"))

    private func announcement(_ fields: [SensorReading], _ sources: Set<DeviceEvent.Source> = []) -> JSON {
        HomeAssistant.announcement("c47c8d000001", "Freezer", fields, sources, topics)
    }

    private func components(_ fields: [SensorReading], _ sources: Set<DeviceEvent.Source> = []) throws -> [String: JSON]
    {
        guard case .object(let announcement) = announcement(fields, sources),
            case .object(let components)? = announcement["cmps"]
        else { throw Missing() }
        return components
    }

    private func component(_ field: SensorReading) throws -> [String: JSON] {
        guard case .object(let component)? = try components([field])[field.id] else { throw Missing() }
        return component
    }

    private struct Missing: Error {}

    // MARK: Every field that a gateway can have

    private static func fields(_ advertisement: Advertisement) -> [SensorReading] {
        let id = Peripheral.ID(rawValue: "C4:7C:8D:00:00:01")
        return DeviceReport(of: advertisement, from: id, ListedDevice(key: "tag", match: .address(id))).fields
    }

    /// The fields of an object of each BTHome kind, alone in its report.
    private static func reported() throws -> [SensorReading] {
        try BTHomeKind.all.flatMap { kind -> [SensorReading] in
            let content: BTHomeObject.Content
            switch kind.coding {
            case .unsigned, .signed: content = .number(1)
            case .flag: content = .flag(true)
            case .text: content = .text("a")
            case .version(let count): content = .version(Array(repeating: 1, count: count))
            case .button, .dimmer, .command, .raw: return []
            }
            var advertisement = Advertisement()
            try BTHome([try BTHomeObject(kind, content)]).encode(into: &advertisement)
            return fields(advertisement)
        }
    }

    private static func ofBeacons() throws -> [SensorReading] {
        var advertisement = Advertisement()
        try RuuviTag(
            temperatureCelsius: 24.3, humidityPercent: 53.49, pressurePascals: 100_044, batteryMillivolts: 2977,
            movementCount: 66
        ).encode(into: &advertisement)
        return fields(advertisement)
    }

    /// The fields of each characteristic, with the first bytes that its format accepts.
    private static func ofCharacteristics() -> [SensorReading] {
        AssignedNumbers.all(.characteristic).compactMap(\.uuid).flatMap { uuid -> [SensorReading] in
            let key = CharacteristicKey(characteristic: uuid)
            for first in [UInt8(0), 1, 0xFF] {
                for count in 1...40 {
                    let bytes = [first] + Array(repeating: 1, count: count - 1)
                    let fields = SensorReading.fields(of: bytes, key)
                    if !fields.isEmpty { return fields }
                }
            }
            return []
        }
    }

    @Test func `what is announced of every value has keys, classes and units that Home Assistant accepts`() throws {
        let fields = try Self.reported() + Self.ofBeacons() + Self.ofCharacteristics()
        #expect(fields.count > 400)
        for field in fields { try check(try component(field), field) }
    }

    private func check(_ component: [String: JSON], _ field: SensorReading) throws {
        let platform = try #require(component["p"]?.string)
        let keys = try #require(HomeAssistantSchema.componentKeys[platform])
        #expect(keys.isSuperset(of: component.keys), "\(field)")
        // Required for each part of a device.
        #expect(component["uniq_id"]?.string?.isEmpty == false)
        let kind = component["dev_cla"]?.string
        guard platform == "sensor" else {
            #expect(kind.map(HomeAssistantSchema.flagClasses.contains) ?? true, "\(field)")
            return
        }
        // A state without a number must not claim to be one.
        if case .text = field.value {
            #expect(component["stat_cla"] == nil && component["unit_of_meas"] == nil, "\(field)")
        } else {
            #expect(component["stat_cla"] != nil)
        }
        guard let kind else { return }
        let accepted = try #require(HomeAssistantSchema.numberClasses[kind], "\(field): \(kind)")
        #expect(accepted.units.contains(component["unit_of_meas"]?.string ?? ""), "\(field)")
        #expect(accepted.states.contains(component["stat_cla"]?.string ?? ""), "\(field)")
    }

    @Test func `what is announced of every part with events has keys that Home Assistant accepts`() throws {
        for kind in [DeviceEvent.Source.Kind.button, .dimmer, .command] {
            let source = DeviceEvent.Source(kind: kind, number: 2)
            let components = try components([], [source])
            guard case .object(let component)? = components["event-\(source.id)"],
                case .array(let types)? = component["evt_typ"]
            else { throw Missing() }
            #expect(component["p"] == "event")
            #expect(HomeAssistantSchema.componentKeys["event"]?.isSuperset(of: component.keys) == true)
            #expect(component["uniq_id"]?.string?.isEmpty == false)
            #expect(["button", nil].contains(component["dev_cla"]?.string))
            #expect(Set(types.map(\.string)).count == types.count && !types.isEmpty)
        }
    }

    @Test func `an announcement has only keys that Home Assistant accepts`() throws {
        guard case .object(let announcement) = announcement(try Self.reported()),
            case .object(let device)? = announcement["dev"], case .object(let origin)? = announcement["o"],
            case .array(let availability)? = announcement["avty"]
        else { throw Missing() }
        #expect(HomeAssistantSchema.deviceKeys.isSuperset(of: announcement.keys))
        #expect(Set(device.keys) == ["ids", "name"])
        #expect(Set(origin.keys) == ["name", "sw"])
        #expect(availability.count == 2)
        #expect(announcement["avty_mode"] == "all")
    }

    @Test func `an unsafe BTHome sensor is on in Home Assistant, where safety is on if there is danger`() throws {
        let safety = try component(SensorReading(name: "safety", value: .flag(true)))
        #expect(safety["dev_cla"] == "safety")
        #expect(safety["pl_on"] == "False" && safety["pl_off"] == "True")
        let door = try component(SensorReading(name: "door", value: .flag(true)))
        #expect(door["pl_on"] == "True" && door["pl_off"] == "False")
    }
}

extension JSON {
    fileprivate var string: String? { if case .string(let text) = self { text } else { nil } }
}

/// What Home Assistant accepts in the discovery of a device: `abbreviations.py` and `schemas.py` of its MQTT integration,
/// `const.py` of its sensor integration and the classes of its binary sensor integration, of the versions 2025.12.5 and
/// 2026.11.0. Of units and states, those that both versions accept. (Both take the micro sign of a unit for the Greek letter.)
private enum HomeAssistantSchema {
    static let deviceKeys: Set<String> = ["avty", "avty_mode", "cmps", "dev", "o", "qos", "stat_t"]

    private static let commonKeys: Set<String> = [
        "default_entity_id", "dev_cla", "en", "ent_cat", "name", "p", "uniq_id", "val_tpl",
    ]

    static let componentKeys = [
        "sensor": commonKeys.union(["stat_cla", "unit_of_meas"]),
        "binary_sensor": commonKeys.union(["pl_off", "pl_on"]),
        "event": commonKeys.union(["evt_typ", "stat_t"]),
    ]

    static let numberClasses: [String: (units: Set<String>, states: Set<String>)] = {
        let measurement: Set<String> = ["measurement"]
        let totals: Set<String> = ["total", "total_increasing"]
        let pressures: Set<String> = ["Pa", "hPa", "kPa", "bar", "mbar", "cbar", "mmHg", "inHg", "psi"]
        let densities: Set<String> = ["µg/m³"]
        return [
            "atmospheric_pressure": (pressures, measurement),
            "battery": (["%"], measurement),
            "carbon_dioxide": (["ppm"], measurement),
            "conductivity": (["S/cm", "mS/cm", "µS/cm"], measurement),
            "current": (["A", "mA"], measurement),
            "distance": (["mm", "cm", "m", "km", "in", "ft", "yd", "mi"], measurement.union(totals)),
            "duration": (["d", "h", "min", "s", "ms", "µs"], measurement.union(totals)),
            "energy": (["J", "kJ", "Wh", "kWh", "MWh", "cal", "kcal"], totals),
            "gas": (["m³", "ft³", "CCF"], totals),
            "humidity": (["%"], measurement),
            "illuminance": (["lx"], measurement),
            "moisture": (["%"], measurement),
            "pm10": (densities, measurement),
            "pm25": (densities, measurement),
            "power": (["mW", "W", "kW", "MW", "GW", "TW"], measurement),
            "precipitation": (["mm", "cm", "in"], measurement.union(totals)),
            "signal_strength": (["dB", "dBm"], measurement),
            "speed": (["mm/s", "m/s", "km/h", "ft/s", "mph", "kn"], measurement),
            "temperature": (["°C", "°F", "K"], measurement),
            "voltage": (["µV", "mV", "V"], measurement),
            "volatile_organic_compounds": (densities, measurement),
            "volume_flow_rate": (["m³/h", "ft³/min", "L/min", "gal/min"], measurement),
            "volume_storage": (["L", "mL", "m³", "ft³", "gal"], measurement),
            "water": (["L", "m³", "ft³", "CCF", "gal"], totals),
            "weight": (["kg", "g", "mg", "µg", "oz", "lb", "st"], measurement.union(totals)),
        ]
    }()

    static let flagClasses: Set<String> = [
        "battery", "battery_charging", "carbon_monoxide", "cold", "connectivity", "door", "garage_door", "gas", "heat",
        "light", "lock", "moisture", "motion", "moving", "occupancy", "opening", "plug", "power", "presence", "problem",
        "running", "safety", "smoke", "sound", "tamper", "update", "vibration", "window",
    ]
}
