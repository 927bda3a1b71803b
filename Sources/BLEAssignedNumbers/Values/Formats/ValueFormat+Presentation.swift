public import BLE

extension ValueFormat {
    /// Creates the format that a Characteristic Presentation Format descriptor describes (Assigned Numbers, section
    /// 2.4.1).
    ///
    /// It has one field, without a name. Structures and unassigned formats are decoded as bytes.
    public init(_ presentation: PresentationFormat) {
        func integer(_ bytes: Int, bits: Int? = nil, signed: Bool = false) -> Kind {
            .integer(bytes: bytes, bits: bits ?? bytes * 8, isSigned: signed)
        }
        let kind: Kind =
            switch presentation.format.rawValue {
            case 0x01: .boolean
            case 0x02: integer(1, bits: 2)
            case 0x03: integer(1, bits: 4)
            case 0x04: integer(1)
            case 0x05: integer(2, bits: 12)
            case 0x06: integer(2)
            case 0x07: integer(3)
            case 0x08: integer(4)
            case 0x09: integer(6)
            case 0x0A: integer(8)
            case 0x0B: integer(16)
            case 0x0C: integer(1, signed: true)
            case 0x0D: integer(2, bits: 12, signed: true)
            case 0x0E: integer(2, signed: true)
            case 0x0F: integer(3, signed: true)
            case 0x10: integer(4, signed: true)
            case 0x11: integer(6, signed: true)
            case 0x12: integer(8, signed: true)
            case 0x13: integer(16, signed: true)
            case 0x14: .float(bytes: 4)
            case 0x15: .float(bytes: 8)
            case 0x16: .medFloat(bytes: 2)
            case 0x17: .medFloat(bytes: 4)
            // A code of IEEE 11073-10101.
            case 0x18: .structure([Field("Partition", integer(2)), Field("Code", integer(2))])
            case 0x19: .text(bytes: nil)
            case 0x1A: .text16
            default: .bytes(nil)
            }
        var field = Field("", kind)
        if presentation.unit != BluetoothUUID(0x2700) { field.unit = presentation.unit }
        // Only integers have an exponent.
        if 0x04...0x13 ~= presentation.format.rawValue { field.scale.decimal = Int(presentation.exponent) }
        self.init(fields: [field])
    }
}
