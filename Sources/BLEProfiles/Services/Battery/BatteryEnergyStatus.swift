public import BLE

/// A battery's voltage, power and energy (GATT Specification Supplement, Battery Energy Status). What was not sent is nil.
public struct BatteryEnergyStatus: Hashable, ValueCodable {
    /// The power that comes from outside, for all batteries of its group; not negative.
    public var externalSourceWatts: MedFloat16?
    /// The voltage between its terminals.
    public var volts: MedFloat16?
    /// The energy that it holds; not negative.
    public var availableKilowattHours: MedFloat16?
    /// The energy that it can hold in its present condition; not negative.
    public var capacityKilowattHours: MedFloat16?
    /// The power with which it is charged; negative when it is discharged.
    public var chargeWatts: MedFloat16?
    /// The energy that it held after it was last charged; not negative.
    public var availableAtLastChargeKilowattHours: MedFloat16?

    /// A status.
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

    /// Flags, and what they announce.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let flags = try reader.uint8()
        externalSourceWatts = flags & 0x01 != 0 ? try reader.notNegativeMedFloat16() : nil
        volts = flags & 0x02 != 0 ? try reader.medFloat16() : nil
        availableKilowattHours = flags & 0x04 != 0 ? try reader.notNegativeMedFloat16() : nil
        capacityKilowattHours = flags & 0x08 != 0 ? try reader.notNegativeMedFloat16() : nil
        chargeWatts = flags & 0x10 != 0 ? try reader.medFloat16() : nil
        availableAtLastChargeKilowattHours = flags & 0x20 != 0 ? try reader.notNegativeMedFloat16() : nil
    }

    /// The same.
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

    /// Further bytes are passed over: the flags may announce more than is known here.
    public static var ignoresFurtherBytes: Bool { true }
}

extension ValueReader {
    /// A decimal number of 16 bits that is not below zero; what is no number may be.
    mutating func notNegativeMedFloat16() throws(BLEError) -> MedFloat16 {
        let value = try medFloat16()
        guard !(value.doubleValue < 0) else { throw invalid("\(value) is negative") }
        return value
    }
}

extension ValueWriter {
    /// A decimal number that is not below zero; what is no number may be.
    mutating func notNegative(_ value: MedFloat16) throws(BLEError) {
        guard !(value.doubleValue < 0) else { throw BLEError(.invalidValue, "\(value) is negative") }
        raw(value)
    }
}
