/// The object ids of bthome.io/format, in order.
extension BTHomeKind {
    /// All known kinds.
    public static let all = numbers + flags + others

    private static let numbers = [
        unsigned(0x00, "packet id", 1),
        unsigned(0x01, "battery", 1, unit: "%"),
        signed(0x02, "temperature", 2, 1, 100, unit: "°C"),
        unsigned(0x03, "humidity", 2, 1, 100, unit: "%"),
        unsigned(0x04, "pressure", 3, 1, 100, unit: "hPa"),
        unsigned(0x05, "illuminance", 3, 1, 100, unit: "lx"),
        unsigned(0x06, "mass", 2, 1, 100, unit: "kg"),
        unsigned(0x07, "mass", 2, 1, 100, unit: "lb"),
        signed(0x08, "dew point", 2, 1, 100, unit: "°C"),
        unsigned(0x09, "count", 1),
        unsigned(0x0A, "energy", 3, 1, 1000, unit: "kWh"),
        unsigned(0x0B, "power", 3, 1, 100, unit: "W"),
        unsigned(0x0C, "voltage", 2, 1, 1000, unit: "V"),
        unsigned(0x0D, "pm2.5", 2, unit: "µg/m³"),
        unsigned(0x0E, "pm10", 2, unit: "µg/m³"),
        unsigned(0x12, "carbon dioxide", 2, unit: "ppm"),
        unsigned(0x13, "volatile organic compounds", 2, unit: "µg/m³"),
        unsigned(0x14, "moisture", 2, 1, 100, unit: "%"),
        unsigned(0x2E, "humidity", 1, unit: "%"),
        unsigned(0x2F, "moisture", 1, unit: "%"),
        unsigned(0x3D, "count", 2),
        unsigned(0x3E, "count", 4),
        signed(0x3F, "rotation", 2, 1, 10, unit: "°"),
        unsigned(0x40, "distance", 2, unit: "mm"),
        unsigned(0x41, "distance", 2, 1, 10, unit: "m"),
        unsigned(0x42, "duration", 3, 1, 1000, unit: "s"),
        unsigned(0x43, "current", 2, 1, 1000, unit: "A"),
        unsigned(0x44, "speed", 2, 1, 100, unit: "m/s"),
        signed(0x45, "temperature", 2, 1, 10, unit: "°C"),
        unsigned(0x46, "UV index", 1, 1, 10),
        unsigned(0x47, "volume", 2, 1, 10, unit: "L"),
        unsigned(0x48, "volume", 2, unit: "mL"),
        unsigned(0x49, "volume flow rate", 2, 1, 1000, unit: "m³/h"),
        unsigned(0x4A, "voltage", 2, 1, 10, unit: "V"),
        unsigned(0x4B, "gas", 3, 1, 1000, unit: "m³"),
        unsigned(0x4C, "gas", 4, 1, 1000, unit: "m³"),
        unsigned(0x4D, "energy", 4, 1, 1000, unit: "kWh"),
        unsigned(0x4E, "volume", 4, 1, 1000, unit: "L"),
        unsigned(0x4F, "water", 4, 1, 1000, unit: "L"),
        // Seconds since 1970-01-01 00:00 UTC.
        unsigned(0x50, "timestamp", 4, unit: "s"),
        unsigned(0x51, "acceleration", 2, 1, 1000, unit: "m/s²"),
        unsigned(0x52, "gyroscope", 2, 1, 1000, unit: "°/s"),
        unsigned(0x55, "volume storage", 4, 1, 1000, unit: "L"),
        unsigned(0x56, "conductivity", 2, unit: "µS/cm"),
        signed(0x57, "temperature", 1, unit: "°C"),
        signed(0x58, "temperature", 1, 35, 100, unit: "°C"),
        signed(0x59, "count", 1),
        signed(0x5A, "count", 2),
        signed(0x5B, "count", 4),
        signed(0x5C, "power", 4, 1, 100, unit: "W"),
        signed(0x5D, "current", 2, 1, 1000, unit: "A"),
        unsigned(0x5E, "direction", 2, 1, 100, unit: "°"),
        unsigned(0x5F, "precipitation", 2, 1, 10, unit: "mm"),
        unsigned(0x60, "channel", 1),
        unsigned(0x61, "rotational speed", 2, unit: "rpm"),
        signed(0x62, "speed", 4, 1, 1_000_000, unit: "m/s"),
        signed(0x63, "acceleration", 4, 1, 1_000_000, unit: "m/s²"),
        unsigned(0x64, "light level", 1),
        unsigned(0x65, "settings revision", 1),
        unsigned(0xF0, "device type", 2),
    ]

    private static let flags: [BTHomeKind] =
        [(0x0F, "generic"), (0x10, "power"), (0x11, "opening")].map { BTHomeKind($0.0, $0.1, .flag) }
        + [
            "battery low", "battery charging", "carbon monoxide", "cold", "connectivity", "door", "garage door", "gas",
            "heat", "light", "lock", "moisture", "motion", "moving", "occupancy", "plug", "presence", "problem",
            "running",
            "safety", "smoke", "sound", "tamper", "vibration", "window",
        ].enumerated().map { BTHomeKind(0x15 + UInt8($0.offset), $0.element, .flag) }

    private static let others = [
        BTHomeKind(0x3A, "button", .button),
        BTHomeKind(0x3B, "command", .command),
        BTHomeKind(0x3C, "dimmer", .dimmer),
        BTHomeKind(0x53, "text", .text),
        BTHomeKind(0x54, "raw", .raw),
        BTHomeKind(0xF1, "firmware version", .version(4)),
        BTHomeKind(0xF2, "firmware version", .version(3)),
    ]

    private static func unsigned(
        _ id: UInt8, _ name: String, _ count: Int, _ numerator: Int64 = 1, _ denominator: Int64 = 1, unit: String = ""
    ) -> BTHomeKind {
        BTHomeKind(id, name, .unsigned(count, step: Step(numerator, denominator)), unit: unit)
    }

    private static func signed(
        _ id: UInt8, _ name: String, _ count: Int, _ numerator: Int64 = 1, _ denominator: Int64 = 1, unit: String = ""
    ) -> BTHomeKind {
        BTHomeKind(id, name, .signed(count, step: Step(numerator, denominator)), unit: unit)
    }
}
