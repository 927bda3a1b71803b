internal import BLE
internal import DBus

/// What bluetoothd, or a controller, is to look for in advertisements: bytes at a place of a field of some type.
struct AdvertisementPattern: Hashable {
    /// Where in the field the bytes begin.
    var offset: UInt8 = 0
    /// The field's type (Assigned Numbers, section 2.3).
    var type: UInt8
    var bytes: [UInt8]

    /// The most that one monitor can have. (The kernel takes 16, but bluetoothd counts the bytes of its request for them, 34
    /// each and one, in 8 bits, and dies of the kernel's refusal; seen with 5.66.)
    static let mostInOneMonitor = 7
    /// The most companies that are looked for one by one.
    static let mostCompanies = 14

    /// The values of the field Flags that occur: discoverable or not, for LE alone or for both radios (Core Specification
    /// Supplement, part A, section 1.3).
    private static let flags: [UInt8] = [
        0x06, 0x04, 0x05, 0x02, 0x01, 0x00, 0x1A, 0x1B, 0x18, 0x19, 0x0A, 0x0E, 0x12, 0x1E, 0x16, 0x1C,
    ]

    /// What a passive scan looks for, monitor by monitor.
    ///
    /// Everything that has the field Flags, which is whatever can be connected to; and where every scan wants a company, its
    /// data too, which may come without flags. Service UUIDs and names are no use: where the controller does not do it, a
    /// bluetoothd of today looks for patterns in neither (`ad_replace_data` in BlueZ's `src/shared/ad.c`).
    static func monitors(for filter: DiscoveryFilter) -> [[AdvertisementPattern]] {
        let companies = filter.manufacturers.sorted().prefix(mostCompanies).map {
            AdvertisementPattern(type: 0xFF, bytes: [UInt8($0 & 0xFF), UInt8($0 >> 8)])
        }
        let all = companies + flags.map { AdvertisementPattern(type: 0x01, bytes: [$0]) }
        return stride(from: 0, to: all.count, by: mostInOneMonitor).map {
            Array(all[$0..<min($0 + mostInOneMonitor, all.count)])
        }
    }

    /// `a(yyay)`.
    static func array(_ patterns: [AdvertisementPattern]) -> DBusValue {
        .array(
            element: "(yyay)", patterns.map { .structure([.byte($0.offset), .byte($0.type), .bytes($0.bytes)]) })
    }
}
