public import BLE

/// The format of a characteristic's value: a sequence of fields.
///
/// Known for nearly every characteristic whose format the Bluetooth SIG publishes (GATT Specification Supplement), and
/// for every characteristic with a Characteristic Presentation Format descriptor. `Docs/Values.md` lists the details.
public struct ValueFormat: Hashable, Sendable {
    /// The fields, in order. Fields may be present only under conditions that depend on other fields.
    public let fields: [Field]
    /// Whether a value consists of one or more records. Each record has these fields, and begins with its size in
    /// bytes.
    let isRecord: Bool

    init(fields: [Field], isRecord: Bool = false) {
        self.fields = fields
        self.isRecord = isRecord
    }

    /// Creates the format that the SIG publishes for a characteristic. Returns nil if there is none.
    public init?(of characteristic: BluetoothUUID) {
        guard let number = characteristic.short else { return nil }
        self.init(number: number, depth: 0)
    }

    /// Decodes the fields of a value, in order. Fields that are not present are omitted.
    ///
    /// A repeated field has several entries. Throws `invalidValue` if a field is missing or truncated, if bytes remain
    /// (except for a structure with flags, which later versions may extend), if text is not valid, and if a number is
    /// prohibited by the format. Reserved bits are ignored; reserved numbers have no name.
    public func decode(_ bytes: [UInt8]) throws(BLEError) -> [FieldValue] {
        guard isRecord else { return try decode(bytes[...]) }
        var values: [FieldValue] = []
        var rest = bytes[...]
        repeat {
            guard let size = rest.first, size > 0, size <= rest.count else {
                throw BLEError(.invalidValue, "the value 0x\(Hex.string(bytes)) has a truncated record")
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
                "the value 0x\(Hex.string(Array(bytes))) is too long by \(decoder.remaining) bytes")
        }
        return values
    }

    /// Whether flags announce other fields, so that a later version can add more.
    private var canGrow: Bool {
        fields.contains { field in
            field.conditions.contains { if case .bit = $0 { true } else { false } }
        }
    }
}
