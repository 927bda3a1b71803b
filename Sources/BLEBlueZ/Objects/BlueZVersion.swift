/// A version of bluetoothd.
struct BlueZVersion: Comparable, CustomStringConvertible {
    let major: Int
    let minor: Int

    init(_ major: Int, _ minor: Int) { (self.major, self.minor) = (major, minor) }

    /// Creates the version that an adapter's `Modalias` contains: 5.66 from `usb:v1D6Bp0246d0542`. That is the default
    /// device id (`init_defaults` in BlueZ's `src/main.c`), unless bluetoothd's configuration sets another.
    init?(modalias: String) {
        let prefix = "usb:v1D6Bp0246d"
        let digits = modalias.dropFirst(prefix.count)
        guard modalias.hasPrefix(prefix), digits.count == 4, let number = UInt16(digits, radix: 16) else { return nil }
        self.init(Int(number >> 8), Int(number & 0xFF))
    }

    /// Whether this version crashes when a peripheral is found by a scan with services in its filter: it exchanges two
    /// arguments in `is_filter_match` of its `src/adapter.c` (BlueZ issue 2282).
    var crashesAtServiceFilters: Bool { self == BlueZVersion(5, 87) }

    var description: String { "\(major).\(minor)" }

    static func < (left: Self, right: Self) -> Bool { (left.major, left.minor) < (right.major, right.minor) }
}
