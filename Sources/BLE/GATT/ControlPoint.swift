/// The result code in a control point's answer.
///
/// Each specification defines its codes in a type of its own. If a request fails, the result is in the
/// ``BLEError/cause`` of an error with code `procedureFailed`; see ``BLEError/result(_:)``.
public protocol ControlPointResult: RawRepresentable, Hashable, Sendable where RawValue == UInt8 {
    /// The code for success.
    static var success: Self { get }
    /// A short description, such as `op code not supported`. Nil for a code that is not defined.
    var meaning: String? { get }
}

/// A control point's answer that it could not perform a request.
public struct ControlPointError<Result: ControlPointResult>: Error, Hashable {
    /// The opcode of the request.
    public let opcode: UInt8
    /// The result code of the answer.
    public let result: Result
    /// The parameter of the answer, if the specification defines one for failures. Usually empty.
    public let parameter: [UInt8]

    /// Creates an error.
    public init(opcode: UInt8, result: Result, parameter: [UInt8] = []) {
        self.opcode = opcode
        self.result = result
        self.parameter = parameter
    }
}

extension BLEError {
    /// The result code of a control point's answer, for an error with code `procedureFailed`. Nil for other errors and
    /// for other result types.
    public func result<Result: ControlPointResult>(_: Result.Type = Result.self) -> Result? {
        (cause as? ControlPointError<Result>)?.result
    }
}

/// A control point whose requests and answers have the usual layout.
///
/// A request is an opcode with a parameter, which is written. Its answer is indicated, and consists of the
/// ``responseOpcode``, the request's opcode, the result, and a parameter, which may be empty.
public struct ControlPoint<Result: ControlPointResult>: Sendable {
    private let service: PeripheralService
    private let key: Characteristic<[UInt8]>
    /// The first byte of every answer.
    public let responseOpcode: UInt8

    /// Creates the control point for a characteristic of `service`.
    public init(_ characteristic: BluetoothUUID, of service: PeripheralService, responseOpcode: UInt8) {
        self.service = service
        key = service.key(Characteristic(characteristic))
        self.responseOpcode = responseOpcode
    }

    /// Performs a request and returns the parameter of the answer, which may be empty.
    ///
    /// Throws `procedureFailed` if the answer is not success; its ``BLEError/result(_:)`` is the reason. Throws
    /// `requestInProgress` while another request waits for its answer, `timedOut` if no answer arrives, `disconnected`
    /// if the link ends first, and `attributeError` if the peripheral rejects the request: 0xFE means that a procedure
    /// is already in progress, 0xFD that indications are not enabled.
    ///
    /// - Parameter timeout: the maximum wait, once connected. Nil for the configuration's operation timeout, whose
    ///   default of 30 s is the limit that services set for their procedures.
    @discardableResult
    public func perform(
        _ opcode: UInt8, _ parameter: [UInt8] = [], timeout: Duration? = nil
    ) async throws(BLEError) -> [UInt8] {
        let prefix = [responseOpcode, opcode]
        let answer = try await service.peripheral.request([opcode] + parameter, on: key, timeout: timeout) {
            $0.starts(with: prefix)
        }
        guard answer.count > 2, let result = Result(rawValue: answer[2]) else {
            throw BLEError(.invalidValue, "the answer 0x\(Hex.string(answer)) contains no valid result code").at(
                service.peripheral.id, service: service.uuid, characteristic: key.key.characteristic)
        }
        let answerParameter = Array(answer[3...])
        try check(result, of: opcode, parameter: answerParameter)
        return answerParameter
    }

    /// Performs a request with a typed parameter. Otherwise like ``perform(_:_:timeout:)``, with the answer's parameter
    /// as bytes. Throws `invalidValue` if the parameter cannot be encoded.
    @discardableResult
    public func perform(
        _ opcode: UInt8, _ parameter: some ValueCodable, timeout: Duration? = nil
    ) async throws(BLEError) -> [UInt8] {
        try await perform(opcode, try parameter.encoded(), timeout: timeout)
    }

    /// Performs a request with a typed parameter, and returns that of the answer.
    ///
    /// ```swift
    /// private func brew(_ order: Order, with point: ControlPoint<BrewResult>) async throws(BLEError) -> Receipt {
    ///     try await point.perform(1, order, answer: Receipt.self)
    /// }
    /// ```
    ///
    /// Throws the errors of ``perform(_:_:timeout:)``, and `invalidValue` if the parameter cannot be encoded, or that
    /// of the answer cannot be decoded: then the peripheral has performed the request.
    public func perform<Answer: ValueCodable>(
        _ opcode: UInt8, _ parameter: some ValueCodable, answer: Answer.Type, timeout: Duration? = nil
    ) async throws(BLEError) -> Answer {
        try decode(try await perform(opcode, parameter, timeout: timeout), of: opcode)
    }

    /// Performs a request without a parameter, and returns the typed parameter of the answer. Otherwise like
    /// ``perform(_:_:answer:timeout:)``.
    public func perform<Answer: ValueCodable>(
        _ opcode: UInt8, answer: Answer.Type, timeout: Duration? = nil
    ) async throws(BLEError) -> Answer {
        try decode(try await perform(opcode, timeout: timeout), of: opcode)
    }

    private func decode<Answer: ValueCodable>(_ bytes: [UInt8], of opcode: UInt8) throws(BLEError) -> Answer {
        do throws(BLEError) {
            return try Answer(bytes: bytes)
        } catch {
            var error = error.at(
                service.peripheral.id, service: service.uuid, characteristic: key.key.characteristic)
            error.message = "the answer to request 0x\(Hex.string([opcode])): \(error.message)"
            throw error
        }
    }

    /// Throws `procedureFailed` unless the result is success.
    public func check(_ result: Result, of opcode: UInt8, parameter: [UInt8] = []) throws(BLEError) {
        guard result != .success else { return }
        let meaning = result.meaning ?? "0x\(Hex.string([result.rawValue]))"
        throw BLEError(
            .procedureFailed, "the peripheral could not perform the request: \(meaning)",
            peripheral: service.peripheral.id,
            service: service.uuid, characteristic: key.key.characteristic,
            cause: ControlPointError(opcode: opcode, result: result, parameter: parameter))
    }
}
