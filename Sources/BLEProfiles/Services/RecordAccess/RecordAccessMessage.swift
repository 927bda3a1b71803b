public import BLE

/// What is written to a record access control point, and what it answers (GATT Specification Supplement, Record Access Control
/// Point): an opcode, an operator, and an operand that depends on both and on the service.
public struct RecordAccessMessage: Hashable, ValueCodable {
    /// What is asked for, or that it is an answer.
    public var opcode: Opcode
    /// Which records; none in answers.
    public var `operator`: Operator
    /// The rest: what the operator compares with, or the answer.
    public var operand: [UInt8]

    /// A message.
    public init(_ opcode: Opcode, _ operator: Operator = .none, operand: [UInt8] = []) {
        self.opcode = opcode
        self.operator = `operator`
        self.operand = operand
    }

    /// A request about some records.
    public init(_ opcode: Opcode, of selection: RecordSelection) {
        self.init(opcode, selection.operator, operand: selection.operand)
    }

    /// The answer that tells how a request went.
    public static func response(to opcode: Opcode, _ result: RecordAccessResult) -> RecordAccessMessage {
        RecordAccessMessage(.response, operand: [opcode.rawValue, result.rawValue])
    }

    /// The answer that tells how many records there are, 0 to 65535.
    public static func recordCount(_ count: UInt16, _ opcode: Opcode = .recordCountResponse) -> RecordAccessMessage {
        RecordAccessMessage(opcode, operand: [UInt8(truncatingIfNeeded: count), UInt8(count >> 8)])
    }

    /// Two bytes and the rest.
    public init(from reader: inout ValueReader) throws(BLEError) {
        opcode = try reader.raw()
        `operator` = try reader.raw()
        operand = reader.rest()
    }

    /// The same.
    public func encode(into writer: inout ValueWriter) {
        writer.raw(opcode)
        writer.raw(`operator`)
        writer.bytes(operand)
    }

    /// What a record access control point is asked for, and what it answers. Other numbers are reserved.
    public struct Opcode: RawRepresentable, Hashable, Sendable {
        /// The number.
        public let rawValue: UInt8
        /// Any number.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Send records.
        public static let reportRecords = Opcode(rawValue: 1)
        /// Delete records.
        public static let deleteRecords = Opcode(rawValue: 2)
        /// Stop what is under way.
        public static let abort = Opcode(rawValue: 3)
        /// Tell how many records there are.
        public static let reportRecordCount = Opcode(rawValue: 4)
        /// So many there are.
        public static let recordCountResponse = Opcode(rawValue: 5)
        /// How a request went.
        public static let response = Opcode(rawValue: 6)
        /// Send records, and tell how many there were.
        public static let combinedReport = Opcode(rawValue: 7)
        /// So many there were.
        public static let combinedReportResponse = Opcode(rawValue: 8)
    }

    /// How records are compared with an operand. Other numbers are reserved.
    public struct Operator: RawRepresentable, Hashable, Sendable {
        /// The number.
        public let rawValue: UInt8
        /// Any number.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// No comparison.
        public static let none = Operator(rawValue: 0)
        /// All records.
        public static let all = Operator(rawValue: 1)
        /// Up to the operand, inclusive.
        public static let lessThanOrEqual = Operator(rawValue: 2)
        /// From the operand on.
        public static let greaterThanOrEqual = Operator(rawValue: 3)
        /// From one to the other, inclusive.
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
    /// Takes requests about records and indicates how they went, in whichever service has it.
    public static var recordAccessControlPoint: Self { Characteristic(BluetoothUUID(0x2A52)) }
}

/// How a record access control point's request went (GATT Specification Supplement, Response Code Values).
public struct RecordAccessResult: ControlPointResult {
    /// The number.
    public let rawValue: UInt8
    /// Any number.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// It was done.
    public static let success = RecordAccessResult(rawValue: 1)
    /// The device does not know the request.
    public static let opcodeNotSupported = RecordAccessResult(rawValue: 2)
    /// The operator does not go with the request.
    public static let invalidOperator = RecordAccessResult(rawValue: 3)
    /// The device does not know the operator.
    public static let operatorNotSupported = RecordAccessResult(rawValue: 4)
    /// The operand is not what the service wants.
    public static let invalidOperand = RecordAccessResult(rawValue: 5)
    /// There is no such record.
    public static let noRecordsFound = RecordAccessResult(rawValue: 6)
    /// What is under way could not be stopped, or there is nothing.
    public static let abortUnsuccessful = RecordAccessResult(rawValue: 7)
    /// It could not be finished, or was aborted.
    public static let procedureNotCompleted = RecordAccessResult(rawValue: 8)
    /// The device does not know the operand.
    public static let operandNotSupported = RecordAccessResult(rawValue: 9)
    /// The device is busy.
    public static let serverBusy = RecordAccessResult(rawValue: 10)

    /// A few words; nil for a reserved number.
    public var meaning: String? {
        switch self {
        case .success: "success"
        case .opcodeNotSupported: "it does not know this request"
        case .invalidOperator: "the operator does not go with the request"
        case .operatorNotSupported: "it does not know this operator"
        case .invalidOperand: "the operand is not valid"
        case .noRecordsFound: "it has no such records"
        case .abortUnsuccessful: "there was nothing that could be aborted"
        case .procedureNotCompleted: "the procedure was not completed"
        case .operandNotSupported: "it does not know this operand"
        case .serverBusy: "it is busy"
        default: nil
        }
    }
}

extension RecordAccessResult: NamedConstants {
    static let names = consecutive(
        from: 1, "success", "opcodeNotSupported", "invalidOperator", "operatorNotSupported", "invalidOperand",
        "noRecordsFound", "abortUnsuccessful", "procedureNotCompleted", "operandNotSupported", "serverBusy")
}
