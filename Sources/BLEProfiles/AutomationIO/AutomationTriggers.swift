public import BLE

/// The condition under which a change of a value is significant: the Value Trigger Setting descriptor, 0x290A.
public enum ValueTrigger: Hashable, Codable, Sendable {
    /// Any change.
    case changed
    /// An analog value crosses the given value.
    case crossed(UInt16)
    /// An analog value reaches or leaves the given value.
    case onBoundary(UInt16)
    /// An analog value changes by more than the given difference.
    case changedByMore(than: UInt16)
    /// A digital signal changes whose bits are set in the given mask. The mask has the format of the value.
    case masked([UInt8])
    /// An analog value enters or leaves the range between the given values.
    case inside(UInt16, UInt16)
    /// An analog value reaches or leaves one of the given values.
    case onBoundaries(UInt16, UInt16)
    /// No change.
    case never
    /// A reserved condition, with the bytes that follow it.
    case reserved(condition: UInt8, operand: [UInt8])
}

extension ValueTrigger: ValueCodable {
    /// Decodes a condition and its operand.
    public init(from reader: inout ValueReader) throws(BLEError) {
        switch try reader.uint8() {
        case 0: self = .changed
        case 1: self = .crossed(try reader.uint16())
        case 2: self = .onBoundary(try reader.uint16())
        case 3: self = .changedByMore(than: try reader.uint16())
        case 4: self = .masked(reader.rest())
        case 5: self = .inside(try reader.uint16(), try reader.uint16())
        case 6: self = .onBoundaries(try reader.uint16(), try reader.uint16())
        case 7: self = .never
        case let condition: self = .reserved(condition: condition, operand: reader.rest())
        }
    }

    /// Encodes the trigger. Throws `invalidValue` for a reserved condition that has its own case.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        if case .reserved(let condition, _) = self, condition <= 7 {
            throw BLEError(.invalidValue, "condition \(condition) is not reserved")
        }
        writer.uint8(condition)
        switch self {
        case .changed, .never: break
        case .crossed(let value), .onBoundary(let value), .changedByMore(let value): writer.uint16(value)
        case .masked(let bytes), .reserved(_, let bytes): writer.bytes(bytes)
        case .inside(let lower, let upper), .onBoundaries(let lower, let upper):
            writer.uint16(lower)
            writer.uint16(upper)
        }
    }

    private var condition: UInt8 {
        switch self {
        case .changed: 0
        case .crossed: 1
        case .onBoundary: 2
        case .changedByMore: 3
        case .masked: 4
        case .inside: 5
        case .onBoundaries: 6
        case .never: 7
        case .reserved(let condition, _): condition
        }
    }
}

/// The time at which significant changes are sent: the Time Trigger Setting descriptor, 0x290E.
public enum TimeTrigger: Hashable, Codable, Sendable {
    /// Immediately.
    case none
    /// At the given interval in seconds, 0 to 16,777,215, even without a change.
    case every(seconds: Int)
    /// With at least the given interval in seconds, 0 to 16,777,215.
    case noMoreOften(thanSeconds: Int)
    /// After the given number of changes, 0 to 65535.
    case changes(count: Int)
    /// A reserved condition, with the bytes that follow it.
    case reserved(condition: UInt8, operand: [UInt8])
}

extension TimeTrigger: ValueCodable {
    /// Decodes a condition and its operand. Bytes after a condition without an operand are ignored.
    public init(from reader: inout ValueReader) throws(BLEError) {
        switch try reader.uint8() {
        case 0:
            _ = reader.rest()
            self = .none
        case 1: self = .every(seconds: Int(try reader.uint24()))
        case 2: self = .noMoreOften(thanSeconds: Int(try reader.uint24()))
        case 3: self = .changes(count: Int(try reader.uint16()))
        case let condition: self = .reserved(condition: condition, operand: reader.rest())
        }
    }

    /// Encodes the trigger. Throws `invalidValue` for a reserved condition that has its own case.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        switch self {
        case .none: writer.uint8(0)
        case .every(let seconds):
            writer.uint8(1)
            try writer.integer(seconds, .uint24)
        case .noMoreOften(let seconds):
            writer.uint8(2)
            try writer.integer(seconds, .uint24)
        case .changes(let count):
            writer.uint8(3)
            try writer.integer(count, .uint16)
        case .reserved(let condition, let operand):
            guard condition > 3 else { throw BLEError(.invalidValue, "condition \(condition) is not reserved") }
            writer.uint8(condition)
            writer.bytes(operand)
        }
    }
}

extension ATTError {
    /// The IO module does not support the condition of a trigger (Automation IO Service 1.0).
    public static let automationTriggerConditionNotSupported = ATTError(rawValue: 0x80)
}
