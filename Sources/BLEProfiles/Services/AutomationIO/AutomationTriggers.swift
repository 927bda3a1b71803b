public import BLE

/// Which change of a value counts: the Value Trigger Setting descriptor, 0x290A.
public enum ValueTrigger: Hashable, Sendable {
    /// Any.
    case changed
    /// An analog value crosses this one.
    case crossed(UInt16)
    /// An analog value comes to this one, or leaves it.
    case onBoundary(UInt16)
    /// An analog value changes by more than this.
    case changedByMore(than: UInt16)
    /// A digital signal changes whose bits are set in this mask, which is laid out as the value is.
    case masked([UInt8])
    /// An analog value comes between these two, or leaves what is between them.
    case inside(UInt16, UInt16)
    /// An analog value comes to one of these two, or leaves it.
    case onBoundaries(UInt16, UInt16)
    /// None.
    case never
    /// A condition that is reserved, with whatever bytes follow it.
    case reserved(condition: UInt8, operand: [UInt8])
}

extension ValueTrigger: ValueCodable {
    /// A condition, and what it takes.
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

    /// The same.
    public func encode(into writer: inout ValueWriter) {
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

/// When changes that count are sent: the Time Trigger Setting descriptor, 0x290E.
public enum TimeTrigger: Hashable, Sendable {
    /// At once.
    case none
    /// Every so many seconds, 0 to 16,777,215, changed or not.
    case every(seconds: Int)
    /// At most every so many seconds, 0 to 16,777,215.
    case noMoreOften(thanSeconds: Int)
    /// After so many changes, 0 to 65535.
    case changes(count: Int)
    /// A condition that is reserved, with whatever bytes follow it.
    case reserved(condition: UInt8, operand: [UInt8])
}

extension TimeTrigger: ValueCodable {
    /// A condition, and what it takes. What follows a condition that takes nothing is passed over.
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

    /// The same.
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
            writer.uint8(condition)
            writer.bytes(operand)
        }
    }
}

extension ATTError {
    /// What an IO module answers to a trigger with a condition that it does not know (Automation IO Service 1.0).
    public static let automationTriggerConditionNotSupported = ATTError(rawValue: 0x80)
}
