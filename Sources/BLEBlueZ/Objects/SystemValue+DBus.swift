internal import BLE
internal import DBus

extension SystemValue {
    init(_ value: DBusValue) {
        self =
            switch value {
            case .byte(let number): .integer(Int(number))
            case .boolean(let value): .boolean(value)
            case .int16(let number): .integer(Int(number))
            case .uint16(let number): .integer(Int(number))
            case .int32(let number), .unixFD(let number): .integer(Int(number))
            case .uint32(let number): .integer(Int(number))
            case .int64(let number): .integer(Int(clamping: number))
            case .uint64(let number): .integer(Int(clamping: number))
            case .double(let number): .number(number)
            case .string(let text), .objectPath(let text), .signature(let text): .text(text)
            case .bytes(let bytes): .bytes(bytes)
            case .array(_, let values), .structure(let values): .list(values.map { SystemValue($0) })
            case .dictionary(_, _, let entries):
                .dictionary(
                    Dictionary(
                        entries.map { (SystemValue($0).name, SystemValue($1)) }, uniquingKeysWith: { first, _ in first }
                    ))
            case .variant(let value): SystemValue(value)
            }
    }

    /// The name of an entry.
    private var name: String {
        switch self {
        case .text(let text): text
        case .integer(let number): "\(number)"
        default: "\(self)"
        }
    }
}
