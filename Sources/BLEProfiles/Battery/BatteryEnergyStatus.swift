public import BLE

/// A battery's voltage, power and energy (GATT Specification Supplement, Battery Energy Status). Values that were not
/// sent are nil.
public struct BatteryEnergyStatus: Hashable, Codable, ValueCodable {
    /// The power from external sources for all batteries of the group. Not negative.
    public var externalSourceWatts: MedFloat16?
    /// The voltage between the terminals.
    public var volts: MedFloat16?
    /// The stored energy. Not negative.
    public var availableKilowattHours: MedFloat16?
    /// The capacity in the present condition. Not negative.
    public var capacityKilowattHours: MedFloat16?
    /// The charging power. Negative while the battery is discharged.
    public var chargeWatts: MedFloat16?
    /// The stored energy after the last charge. Not negative.
    public var availableAtLastChargeKilowattHours: MedFloat16?

    /// Creates a status.
    public init(
        externalSourceWatts: MedFloat16? = nil, volts: MedFloat16? = nil, availableKilowattHours: MedFloat16? = nil,
        capacityKilowattHours: MedFloat16? = nil, chargeWatts: MedFloat16? = nil,
        availableAtLastChargeKilowattHours: MedFloat16? = nil
    ) {
        self.externalSourceWatts = externalSourceWatts
        self.volts = volts
        self.availableKilowattHours = availableKilowattHours
        self.capacityKilowattHours = capacityKilowattHours
        self.chargeWatts = chargeWatts
        self.availableAtLastChargeKilowattHours = availableAtLastChargeKilowattHours
    }

    /// Decodes flags, and the fields that they announce.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let flags = try reader.uint8()
        externalSourceWatts = flags & 0x01 != 0 ? try reader.notNegativeMedFloat16() : nil
        volts = flags & 0x02 != 0 ? try reader.medFloat16() : nil
        availableKilowattHours = flags & 0x04 != 0 ? try reader.notNegativeMedFloat16() : nil
        capacityKilowattHours = flags & 0x08 != 0 ? try reader.notNegativeMedFloat16() : nil
        chargeWatts = flags & 0x10 != 0 ? try reader.medFloat16() : nil
        availableAtLastChargeKilowattHours = flags & 0x20 != 0 ? try reader.notNegativeMedFloat16() : nil
    }

    /// Encodes the value in the format that `init(from:)` decodes.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        let fields = [
            externalSourceWatts, volts, availableKilowattHours, capacityKilowattHours, chargeWatts,
            availableAtLastChargeKilowattHours,
        ]
        var flags: UInt8 = 0
        for (bit, field) in fields.enumerated() where field != nil { flags |= 1 << bit }
        writer.uint8(flags)
        for (bit, field) in fields.enumerated() {
            guard let field else { continue }
            if bit == 1 || bit == 4 { writer.raw(field) } else { try writer.notNegative(field) }
        }
    }

    /// True, since reserved flags may announce further fields.
    public static var ignoresTrailingBytes: Bool { true }
}

extension ValueReader {
    /// Decodes a decimal number that is not negative. Throws `invalidValue` for a negative number.
    mutating func notNegativeMedFloat16() throws(BLEError) -> MedFloat16 {
        let value = try medFloat16()
        guard !(value.doubleValue < 0) else { throw invalid("\(value) is negative") }
        return value
    }
}

extension ValueWriter {
    /// Throws `invalidValue` if a decimal number is negative. Special values such as NaN are allowed.
    mutating func notNegative(_ value: MedFloat16) throws(BLEError) {
        guard !(value.doubleValue < 0) else { throw BLEError(.invalidValue, "\(value) is negative") }
        raw(value)
    }
}
