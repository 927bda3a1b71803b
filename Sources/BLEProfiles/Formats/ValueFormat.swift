public import BLE

/// What the bytes of a characteristic's value mean: fields, one after the other.
///
/// Known for nearly every characteristic whose format the Bluetooth SIG publishes (GATT Specification Supplement), and for any
/// whose Characteristic Presentation Format descriptor tells. `Docs/Values.md` says which, and how far.
public struct ValueFormat: Hashable, Sendable {
    /// The fields, in order. Which of them are there may depend on others.
    public let fields: [Field]
    /// Whether the fields are those of a record that begins with its size in bytes, of which a value has one or more.
    let isRecord: Bool

    init(fields: [Field], isRecord: Bool = false) {
        self.fields = fields
        self.isRecord = isRecord
    }

    /// The format that the SIG publishes for a characteristic; nil where it publishes none.
    public init?(of characteristic: BluetoothUUID) {
        guard let number = characteristic.short else { return nil }
        self.init(number: number, depth: 0)
    }

    /// The fields that a value's bytes spell, in order, without those that are not there.
    ///
    /// A field that occurs several times has one entry each time. Throws `invalidValue` when a field is missing or cut off, when
    /// bytes are left over (but for a structure with flags, which a later version may have lengthened), when text is not UTF-8
    /// and when a number is one that the format prohibits. Reserved bits are ignored; reserved numbers have no name.
    public func decode(_ bytes: [UInt8]) throws(BLEError) -> [FieldValue] {
        guard isRecord else { return try decode(bytes[...]) }
        var values: [FieldValue] = []
        var rest = bytes[...]
        repeat {
            guard let size = rest.first, size > 0, size <= rest.count else {
                throw BLEError(.invalidValue, "the value 0x\(Hex.string(bytes)) has a record that is cut off")
            }
            values.append(FieldValue("Record", .fields(try decode(rest.prefix(Int(size))))))
            rest = rest.dropFirst(Int(size))
        } while !rest.isEmpty
        return values
    }

    private func decode(_ bytes: ArraySlice<UInt8>) throws(BLEError) -> [FieldValue] {
        var decoder = ValueDecoder(bytes)
        let values = try decoder.values(of: fields)
        guard decoder.remaining == 0 || canGrow else {
            throw BLEError(
                .invalidValue,
                "the value 0x\(Hex.string(Array(bytes))) is too long: \(decoder.remaining) bytes are left over")
        }
        return values
    }

    /// Whether flags announce what follows, so that a later version can have more.
    private var canGrow: Bool {
        fields.contains { field in
            field.conditions.contains { if case .bit = $0 { true } else { false } }
        }
    }
}
