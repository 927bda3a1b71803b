public import BLE

/// A condition for notifying a value: an ES Trigger Setting descriptor, 0x290D (Environmental Sensing Service 1.0,
/// section 3.1.2.2).
///
/// A characteristic has up to three. ``EnvironmentalTriggerLogic`` combines them.
public enum EnvironmentalTrigger<Value: Sendable>: Sendable {
    /// The trigger is not used.
    case inactive
    /// At the given interval in seconds, 0 to 16,777,215.
    case every(seconds: Int)
    /// With at least the given interval in seconds, 0 to 16,777,215.
    case noMoreOften(thanSeconds: Int)
    /// When the value changes.
    case changed
    /// While the value is less than the given value.
    case less(than: Value)
    /// While the value is at most the given value.
    case atMost(Value)
    /// While the value is greater than the given value.
    case greater(than: Value)
    /// While the value is at least the given value.
    case atLeast(Value)
    /// While the value equals the given value.
    case equal(to: Value)
    /// While the value differs from the given value.
    case notEqual(to: Value)
    /// A reserved condition, with the bytes that follow it.
    case reserved(condition: UInt8, operand: [UInt8])
}

extension EnvironmentalTrigger: Equatable where Value: Equatable {}
extension EnvironmentalTrigger: Hashable where Value: Hashable {}

extension EnvironmentalTrigger {
    /// Returns the coding of the triggers of a characteristic whose values have the coding `value`: a condition,
    /// followed by seconds, a value, or nothing.
    public static func coding(_ value: ValueCoding<Value>) -> ValueCoding<EnvironmentalTrigger> {
        ValueCoding(
            decode: { (bytes) throws(BLEError) in try decode(bytes, value) },
            encode: { (trigger) throws(BLEError) in try trigger.encoded(value) })
    }

    private static func decode(_ bytes: [UInt8], _ value: ValueCoding<Value>) throws(BLEError) -> Self {
        guard let condition = bytes.first else { throw BLEError(.invalidValue, "the trigger has no condition") }
        let operand = Array(bytes.dropFirst())
        switch condition {
        case 0x00, 0x03:
            guard operand.isEmpty else {
                throw BLEError(.invalidValue, "condition \(condition) of a trigger does not have an operand")
            }
            return condition == 0x00 ? .inactive : .changed
        case 0x01: return .every(seconds: Int(try Seconds(bytes: operand).count))
        case 0x02: return .noMoreOften(thanSeconds: Int(try Seconds(bytes: operand).count))
        case 0x04: return .less(than: try value.decode(operand))
        case 0x05: return .atMost(try value.decode(operand))
        case 0x06: return .greater(than: try value.decode(operand))
        case 0x07: return .atLeast(try value.decode(operand))
        case 0x08: return .equal(to: try value.decode(operand))
        case 0x09: return .notEqual(to: try value.decode(operand))
        default: return .reserved(condition: condition, operand: operand)
        }
    }

    private func encoded(_ value: ValueCoding<Value>) throws(BLEError) -> [UInt8] {
        switch self {
        case .inactive: [0x00]
        case .every(let seconds): [0x01] + (try Seconds(count: seconds).encoded())
        case .noMoreOften(let seconds): [0x02] + (try Seconds(count: seconds).encoded())
        case .changed: [0x03]
        case .less(let limit): [0x04] + (try value.encode(limit))
        case .atMost(let limit): [0x05] + (try value.encode(limit))
        case .greater(let limit): [0x06] + (try value.encode(limit))
        case .atLeast(let limit): [0x07] + (try value.encode(limit))
        case .equal(let other): [0x08] + (try value.encode(other))
        case .notEqual(let other): [0x09] + (try value.encode(other))
        case .reserved(let condition, let operand): try Self.reserved(condition, operand)
        }
    }

    private static func reserved(_ condition: UInt8, _ operand: [UInt8]) throws(BLEError) -> [UInt8] {
        guard condition > 0x09 else { throw BLEError(.invalidValue, "condition \(condition) is not reserved") }
        return [condition] + operand
    }
}

/// The combination of a characteristic's triggers: the ES Configuration descriptor, 0x290B (Environmental Sensing
/// Service 1.0, section 3.1.2.3). Other numbers are reserved.
public struct EnvironmentalTriggerLogic: RawRepresentable, Hashable, Codable, ValueCodable {
    /// The number.
    public let rawValue: UInt8
    /// Creates a value with any number.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// All triggers must be satisfied.
    public static let and = EnvironmentalTriggerLogic(rawValue: 0)
    /// At least one trigger must be satisfied.
    public static let or = EnvironmentalTriggerLogic(rawValue: 1)
}

extension EnvironmentalTriggerLogic: NamedConstants {
    static let names = consecutive("and", "or")
}

extension ATTError {
    /// The sensor rejects the value of a descriptor (Environmental Sensing Service 1.0).
    public static let environmentalWriteRequestRejected = ATTError(rawValue: 0x80)
    /// The sensor does not support the condition of a trigger.
    public static let environmentalConditionNotSupported = ATTError(rawValue: 0x81)
}

/// Three bytes.
private struct Seconds: ValueCodable {
    let count: Int

    init(count: Int) { self.count = count }
    init(from reader: inout ValueReader) throws(BLEError) { count = Int(try reader.uint24()) }
    func encode(into writer: inout ValueWriter) throws(BLEError) { try writer.integer(count, .uint24) }
}
