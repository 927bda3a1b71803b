internal import BLE
internal import DBus

/// A pattern in advertisements for bluetoothd or a controller to find: bytes at an offset in a field of a given type.
struct AdvertisementPattern: Hashable {
    /// The offset of the bytes in the field.
    var offset: UInt8 = 0
    /// The field's type (Assigned Numbers, section 2.3).
    var type: UInt8
    var bytes: [UInt8]

    /// The maximum number of patterns in one monitor. The kernel accepts 16, but bluetoothd stores the length of its
    /// request, one byte and 34 per pattern, in 8 bits, and crashes when the kernel refuses the request (seen with
    /// 5.66).
    static let mostInOneMonitor = 7
    /// The maximum number of companies with their own patterns.
    static let mostCompanies = 14

    /// The values of the field Flags that occur: discoverable or not, for LE only or for both transports (Core
    /// Specification Supplement, part A, section 1.3).
    private static let flags: [UInt8] = [
        0x06, 0x04, 0x05, 0x02, 0x01, 0x00, 0x1A, 0x1B, 0x18, 0x19, 0x0A, 0x0E, 0x12, 0x1E, 0x16, 0x1C,
    ]

    /// Returns the patterns of a passive scan, by monitor.
    ///
    /// They match everything with the field Flags, which connectable devices send. If every scan is for given
    /// companies, they also match the data of these companies, which may come without flags. Patterns for service UUIDs
    /// and names are useless: if the controller does not filter, current versions of bluetoothd do not match patterns
    /// in these fields (`ad_replace_data` in BlueZ's `src/shared/ad.c`).
    static func monitors(for filter: DiscoveryFilter) -> [[AdvertisementPattern]] {
        let companies = filter.manufacturers.sorted().prefix(mostCompanies).map {
            AdvertisementPattern(type: 0xFF, bytes: [UInt8($0 & 0xFF), UInt8($0 >> 8)])
        }
        let all = companies + flags.map { AdvertisementPattern(type: 0x01, bytes: [$0]) }
        return stride(from: 0, to: all.count, by: mostInOneMonitor).map {
            Array(all[$0..<min($0 + mostInOneMonitor, all.count)])
        }
    }

    /// Encodes patterns as an `a(yyay)`.
    static func array(_ patterns: [AdvertisementPattern]) -> DBusValue {
        .array(
            element: "(yyay)", patterns.map { .structure([.byte($0.offset), .byte($0.type), .bytes($0.bytes)]) })
    }
}
