/// The words for binary sensors (bthome.io/format, "Binary sensor data").
extension BTHomeKind {
    /// Returns the meaning of a flag, such as `open` for a door that is on, or `unlocked` for a lock.
    func words(_ isOn: Bool) -> String {
        guard let words = Self.flagWords[id] else { return isOn ? "on" : "off" }
        return isOn ? words.on : words.off
    }

    private static let flagWords: [UInt8: (off: String, on: String)] = [
        0x11: ("closed", "open"),
        0x15: ("no", "yes"),
        0x16: ("no", "yes"),
        0x17: ("clear", "detected"),
        0x18: ("no", "yes"),
        0x19: ("disconnected", "connected"),
        0x1A: ("closed", "open"),
        0x1B: ("closed", "open"),
        0x1C: ("clear", "detected"),
        0x1D: ("normal", "hot"),
        0x1E: ("none", "detected"),
        0x1F: ("locked", "unlocked"),
        0x20: ("dry", "wet"),
        0x21: ("clear", "detected"),
        0x22: ("no", "yes"),
        0x23: ("clear", "detected"),
        0x24: ("unplugged", "plugged in"),
        0x25: ("away", "home"),
        0x26: ("no", "yes"),
        0x27: ("no", "yes"),
        0x28: ("unsafe", "safe"),
        0x29: ("clear", "detected"),
        0x2A: ("clear", "detected"),
        0x2C: ("clear", "detected"),
        0x2D: ("closed", "open"),
    ]
}
