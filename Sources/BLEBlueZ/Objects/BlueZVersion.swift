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

    /// Whether this version crashes when a peripheral is found by a scan with services in its filter: `is_filter_match`
    /// in its `src/adapter.c` passes two arguments in the wrong order (BlueZ issue 2282).
    var crashesAtServiceFilters: Bool { self == BlueZVersion(5, 87) }

    /// Whether the end of a link's channel drops an attempt to connect that has begun after the end of the link, which
    /// is then never answered (`attio_cleanup` in its `src/device.c`). From 5.67 on, `Connect` is refused until then.
    var dropsAttempts: Bool { self < BlueZVersion(5, 67) }

    /// Whether a request that waits for the link to be secured is lost with the link, from 5.67 on: the request is in
    /// the channel's own queue (`handle_error_rsp` in its `src/shared/att.c`), which `bt_att_chan_free` drops without
    /// an answer. `read_op` or `write_op` of the attribute in `src/gatt-client.c` then points to freed memory for as
    /// long as the attribute's object exists.
    var losesWaitingRequests: Bool { self >= BlueZVersion(5, 67) }

    /// Whether `Pair` over an existing link secures the channel of the Attribute Protocol, from 5.81 on (`pair_device`
    /// in its `src/device.c`): nothing is sent over the channel until the pairing has succeeded, `CancelPairing` cannot
    /// end the pairing, and after a failed pairing the link remains in that state.
    var pairsOverAttributeChannel: Bool { self >= BlueZVersion(5, 81) }

    var description: String { "\(major).\(minor)" }

    static func < (left: Self, right: Self) -> Bool { (left.major, left.minor) < (right.major, right.minor) }
}
