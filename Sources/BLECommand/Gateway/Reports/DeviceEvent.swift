import BLE
import BLEBTHome
import BLEDefinitions

/// What happens at a device and is not a state, such as the press of a button.
struct DeviceEvent: Equatable, Sendable {
    /// A part of a device that has events, such as its second button.
    struct Source: Hashable, Sendable {
        enum Kind: String, Sendable {
            case button, dimmer, command

            /// What can happen, such as `double_press`.
            var types: [String] {
                switch self {
                case .button: BTHomeButton.allCases.filter { $0 != .none }.map { SensorReading.id("\($0)") }
                case .dimmer: BTHomeDimmer.allCases.filter { $0 != .none }.map { SensorReading.id("\($0)") }
                case .command: BTHomeCommand.allCases.map { SensorReading.id("\($0)") }
                }
            }
        }

        let kind: Kind
        /// The position among the parts of its kind, from 1.
        var number = 1

        /// The name for people, such as `button 2`.
        var name: String { number == 1 ? kind.rawValue : "\(kind.rawValue) \(number)" }
        /// The name in topics, such as `button_2`.
        var id: String { SensorReading.id(name) }
    }

    let source: Source
    /// What happened, such as `double_press`. Nil if nothing happened to this part.
    let type: String?
    /// What else is known of it.
    var details: [String: JSON] = [:]

    /// The text for the broker, as Home Assistant expects it (MQTT event integration).
    var payload: String { JSON.object(details.merging(["event_type": .optional(type)]) { $1 }).text }

    /// Returns the events among the objects of a BTHome report. The second button has the second object of its kind.
    static func events(of objects: [BTHomeObject]) -> [DeviceEvent] {
        var counts: [Source.Kind: Int] = [:]
        return objects.compactMap { object in
            let kind: Source.Kind
            let type: String?
            var details: [String: JSON] = [:]
            switch object.content {
            case .button(let button): (kind, type) = (.button, button == .none ? nil : "\(button)")
            case .dimmer(let dimmer, let steps):
                (kind, type) = (.dimmer, dimmer == .none ? nil : "\(dimmer)")
                details["steps"] = .int(Int(steps))
            case .command(let command, let arguments):
                (kind, type) = (.command, "\(command)")
                if !arguments.isEmpty { details["arguments"] = .hex(arguments) }
            case .number, .flag, .text, .version, .raw: return nil
            }
            counts[kind, default: 0] += 1
            return DeviceEvent(
                source: Source(kind: kind, number: counts[kind] ?? 1), type: type.map { SensorReading.id($0) },
                details: details)
        }
    }
}
