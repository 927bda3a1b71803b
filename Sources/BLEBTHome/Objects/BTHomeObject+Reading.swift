public import BLE

extension BTHomeObject {
    /// The object as a reading: a number, a flag or a text. Nil for an event, for bytes, and for a packet id.
    public var reading: SensorReading? {
        switch content {
        case .number:
            guard kind.id != 0, let value else { return nil }
            return SensorReading(name: kind.name, value: .number(value), unit: kind.unit.isEmpty ? nil : kind.unit)
        case .flag(let flag): return SensorReading(name: kind.name, value: .flag(flag))
        case .text(let text): return SensorReading(name: kind.name, value: .text(text))
        case .version(let numbers):
            return SensorReading(name: kind.name, value: .text(numbers.map(String.init).joined(separator: ".")))
        case .button, .dimmer, .command, .raw: return nil
        }
    }
}

extension BTHome {
    /// The readings of the objects. Empty for encrypted objects.
    public var readings: [SensorReading] { (objects ?? []).compactMap(\.reading) }

    /// The name of the format, and the service whose data has it.
    public static let format = AdvertisementFormat.Description("BTHome", .service(service))
}
