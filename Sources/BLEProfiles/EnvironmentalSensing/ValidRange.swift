public import BLE

/// The range of values of a characteristic, including both ends: the Valid Range descriptor, 0x2906.
public struct ValidRange<Value: Sendable>: Sendable {
    /// The minimum.
    public var lower: Value
    /// The maximum.
    public var upper: Value

    /// Creates a range.
    public init(_ lower: Value, _ upper: Value) {
        self.lower = lower
        self.upper = upper
    }
}

extension ValidRange: Equatable where Value: Equatable {}
extension ValidRange: Hashable where Value: Hashable {}

extension ValidRange {
    /// Returns the coding of the range of a characteristic whose values have the coding `value`: two values of the same
    /// length.
    public static func coding(_ value: ValueCoding<Value>) -> ValueCoding<ValidRange> {
        ValueCoding(
            decode: { (bytes) throws(BLEError) in
                guard bytes.count % 2 == 0 else {
                    throw BLEError(
                        .invalidValue, "the range 0x\(Hex.string(bytes)) is not two values of the same length")
                }
                let (lower, upper) = (bytes.prefix(bytes.count / 2), bytes.suffix(bytes.count / 2))
                return ValidRange(try value.decode(Array(lower)), try value.decode(Array(upper)))
            },
            encode: { (range) throws(BLEError) in try value.encode(range.lower) + value.encode(range.upper) })
    }
}

extension Peripheral {
    /// Returns the range of values of a characteristic (Valid Range, 0x2906). Nil if there is no descriptor.
    public func validRange<Value>(
        of characteristic: Characteristic<Value>, timeout: Duration? = nil
    ) async throws(BLEError) -> ValidRange<Value>? {
        try await readDescriptorIfPresent(
            BluetoothUUID(0x2906), of: characteristic.key, as: ValidRange.coding(characteristic.coding),
            timeout: timeout)
    }

    /// Returns the value of an optional descriptor. Nil if the characteristic does not have it.
    func readDescriptorIfPresent<Value>(
        _ descriptor: BluetoothUUID, of characteristic: CharacteristicKey, as coding: ValueCoding<Value>,
        timeout: Duration? = nil
    ) async throws(BLEError) -> Value? {
        do throws(BLEError) {
            return try coding.decode(
                try await readDescriptor(descriptor, of: characteristic, timeout: timeout))
        } catch {
            if error.missingUUIDs == [descriptor] { return nil }
            throw error.at(id, service: characteristic.service, characteristic: characteristic.characteristic)
        }
    }
}
