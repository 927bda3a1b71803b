public import BLE

/// A request to a record access control point, or its answer (GATT Specification Supplement, Record Access Control
/// Point).
///
/// It consists of an opcode, an operator, and an operand that depends on both and on the service.
public struct RecordAccessMessage: Hashable, Codable, ValueCodable {
    /// The opcode of a request or an answer.
    public var opcode: Opcode
    /// The operator, which selects records. `none` in answers.
    public var `operator`: Operator
    /// The operand of the operator, or the contents of an answer.
    public var operand: [UInt8]

    /// Creates a message.
    public init(_ opcode: Opcode, _ operator: Operator = .none, operand: [UInt8] = []) {
        self.opcode = opcode
        self.operator = `operator`
        self.operand = operand
    }

    /// Creates a request for the selected records.
    public init(_ opcode: Opcode, of selection: RecordSelection) {
        self.init(opcode, selection.operator, operand: selection.operand)
    }

    /// Returns the answer with the result of a request.
    public static func response(to opcode: Opcode, _ result: RecordAccessResult) -> RecordAccessMessage {
        RecordAccessMessage(.response, operand: [opcode.rawValue, result.rawValue])
    }

    /// Returns the answer with a number of records, 0 to 65535.
    public static func recordCount(_ count: UInt16, _ opcode: Opcode = .recordCountResponse) -> RecordAccessMessage {
        RecordAccessMessage(opcode, operand: [UInt8(truncatingIfNeeded: count), UInt8(count >> 8)])
    }

    /// Decodes two bytes and the operand.
    public init(from reader: inout ValueReader) throws(BLEError) {
        opcode = try reader.raw()
        `operator` = try reader.raw()
        operand = reader.rest()
    }

    /// Encodes the value in the format that `init(from:)` decodes.
    public func encode(into writer: inout ValueWriter) {
        writer.raw(opcode)
        writer.raw(`operator`)
        writer.bytes(operand)
    }

    /// The opcode of a request or an answer. Other numbers are reserved.
    public struct Opcode: RawRepresentable, Hashable, Codable, Sendable {
        /// The number.
        public let rawValue: UInt8
        /// Creates a value with any number.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Send records.
        public static let reportRecords = Opcode(rawValue: 1)
        /// Delete records.
        public static let deleteRecords = Opcode(rawValue: 2)
        /// Abort the current operation.
        public static let abort = Opcode(rawValue: 3)
        /// Report the number of records.
        public static let reportRecordCount = Opcode(rawValue: 4)
        /// The answer with the number of records.
        public static let recordCountResponse = Opcode(rawValue: 5)
        /// The answer with the result of a request.
        public static let response = Opcode(rawValue: 6)
        /// Send records, and report their number.
        public static let combinedReport = Opcode(rawValue: 7)
        /// The answer with the number of records that were sent.
        public static let combinedReportResponse = Opcode(rawValue: 8)
    }

    /// The comparison of records with an operand. Other numbers are reserved.
    public struct Operator: RawRepresentable, Hashable, Codable, Sendable {
        /// The number.
        public let rawValue: UInt8
        /// Creates a value with any number.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// No comparison.
        public static let none = Operator(rawValue: 0)
        /// All records.
        public static let all = Operator(rawValue: 1)
        /// Up to the operand, inclusive.
        public static let lessThanOrEqual = Operator(rawValue: 2)
        /// From the operand on, inclusive.
        public static let greaterThanOrEqual = Operator(rawValue: 3)
        /// Between two operands, inclusive.
        public static let within = Operator(rawValue: 4)
        /// The oldest record.
        public static let first = Operator(rawValue: 5)
        /// The newest record.
        public static let last = Operator(rawValue: 6)
    }
}

extension RecordAccessMessage.Opcode: NamedConstants {
    static let names = consecutive(
        from: 1, "reportRecords", "deleteRecords", "abort", "reportRecordCount", "recordCountResponse", "response",
        "combinedReport", "combinedReportResponse")
}

extension RecordAccessMessage.Operator: NamedConstants {
    static let names = consecutive("none", "all", "lessThanOrEqual", "greaterThanOrEqual", "within", "first", "last")
}

extension Characteristic where Value == RecordAccessMessage {
    /// The control point for requests about records, in any service that contains it.
    public static var recordAccessControlPoint: Self { Characteristic(BluetoothUUID(0x2A52)) }
}

/// The result code of a record access control point (GATT Specification Supplement, Response Code Values).
public struct RecordAccessResult: ControlPointResult {
    /// The number.
    public let rawValue: UInt8
    /// Creates a value with any number.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The operation succeeded.
    public static let success = RecordAccessResult(rawValue: 1)
    /// The device does not support the opcode.
    public static let opcodeNotSupported = RecordAccessResult(rawValue: 2)
    /// The operator is not valid for the request.
    public static let invalidOperator = RecordAccessResult(rawValue: 3)
    /// The device does not support the operator.
    public static let operatorNotSupported = RecordAccessResult(rawValue: 4)
    /// The operand is not valid for the service.
    public static let invalidOperand = RecordAccessResult(rawValue: 5)
    /// There is no such record.
    public static let noRecordsFound = RecordAccessResult(rawValue: 6)
    /// The operation could not be aborted, or there is none.
    public static let abortUnsuccessful = RecordAccessResult(rawValue: 7)
    /// The operation was aborted, or could not be completed.
    public static let procedureNotCompleted = RecordAccessResult(rawValue: 8)
    /// The device does not support the operand.
    public static let operandNotSupported = RecordAccessResult(rawValue: 9)
    /// The device is busy.
    public static let serverBusy = RecordAccessResult(rawValue: 10)

    /// A short description. Nil for a reserved number.
    public var meaning: String? {
        switch self {
        case .success: "success"
        case .opcodeNotSupported: "the device does not support this request"
        case .invalidOperator: "the operator is not valid for the request"
        case .operatorNotSupported: "the device does not support this operator"
        case .invalidOperand: "the operand is not valid"
        case .noRecordsFound: "the device has no such records"
        case .abortUnsuccessful: "nothing could be aborted"
        case .procedureNotCompleted: "the procedure was not completed"
        case .operandNotSupported: "the device does not support this operand"
        case .serverBusy: "the device is busy"
        default: nil
        }
    }
}

extension RecordAccessResult: NamedConstants {
    static let names = consecutive(
        from: 1, "success", "opcodeNotSupported", "invalidOperator", "operatorNotSupported", "invalidOperand",
        "noRecordsFound", "abortUnsuccessful", "procedureNotCompleted", "operandNotSupported", "serverBusy")
}
