/// How a control point answered a request.
///
/// A type for the numbers of each specification; the peripheral's answer comes as the ``BLEError/cause`` of an error with code
/// `procedureFailed`, see ``BLEError/result(_:)``.
public protocol ControlPointResult: RawRepresentable, Hashable, Sendable where RawValue == UInt8 {
    /// The number for success.
    static var success: Self { get }
    /// A few words for a person, such as `op code not supported`; nil for a number without a meaning.
    var meaning: String? { get }
}

/// A peripheral's answer that it could not do what a control point was asked for.
public struct ControlPointError<Result: ControlPointResult>: Error, Hashable {
    /// What was asked for.
    public let opcode: UInt8
    /// The answer.
    public let result: Result
    /// What came after it, where a specification tells more of a failure; mostly nothing.
    public let parameter: [UInt8]

    /// An answer.
    public init(opcode: UInt8, result: Result, parameter: [UInt8] = []) {
        self.opcode = opcode
        self.result = result
        self.parameter = parameter
    }
}

extension BLEError {
    /// What a control point answered, for an error with code `procedureFailed`; nil for other errors, and other control points.
    public func result<Result: ControlPointResult>(_: Result.Type = Result.self) -> Result? {
        (cause as? ControlPointError<Result>)?.result
    }
}

/// A control point of the usual kind: a request is an opcode with a parameter, written; its answer is indicated and says which
/// request it is for, how that went, and perhaps more.
///
/// The answer's bytes are the ``responseOpcode``, the request's opcode, the result, and a parameter.
public struct ControlPoint<Result: ControlPointResult>: Sendable {
    private let service: PeripheralService
    private let key: Characteristic<[UInt8]>
    /// The first byte of every answer.
    public let responseOpcode: UInt8

    /// The control point of `service` that `characteristic` names.
    public init(_ characteristic: BluetoothUUID, of service: PeripheralService, responseOpcode: UInt8) {
        self.service = service
        key = service.key(Characteristic(characteristic))
        self.responseOpcode = responseOpcode
    }

    /// Asks, and returns the parameter of the answer, which may be empty.
    ///
    /// Throws `procedureFailed` when the answer is not success; its ``BLEError/result(_:)`` tells why. Throws `requestInProgress`
    /// while another request waits for its answer, `timedOut` without an answer, `disconnected` when the link ends before, and
    /// `attributeError` when the peripheral refuses the request at once: 0xFE is a procedure already in progress, 0xFD
    /// that it wants its indications switched on first.
    ///
    /// - Parameter timeout: the longest wait, once connected; nil for the configuration's operation timeout, whose 30 s are how long
    ///   services give their procedures.
    @discardableResult
    public func perform(
        _ opcode: UInt8, _ parameter: [UInt8] = [], timeout: Duration? = nil
    ) async throws(BLEError) -> [UInt8] {
        let prefix = [responseOpcode, opcode]
        let answer = try await service.peripheral.request([opcode] + parameter, on: key, timeout: timeout) {
            $0.starts(with: prefix)
        }
        guard answer.count > 2, let result = Result(rawValue: answer[2]) else {
            throw BLEError(.invalidValue, "the answer 0x\(Hex.string(answer)) has no result").at(
                service.peripheral.id, service: service.uuid, characteristic: key.key.characteristic)
        }
        let answerParameter = Array(answer[3...])
        try check(result, of: opcode, parameter: answerParameter)
        return answerParameter
    }

    /// Throws unless a procedure has succeeded.
    public func check(_ result: Result, of opcode: UInt8, parameter: [UInt8] = []) throws(BLEError) {
        guard result != .success else { return }
        let meaning = result.meaning ?? "0x\(Hex.string([result.rawValue]))"
        throw BLEError(
            .procedureFailed, "the peripheral could not do it: \(meaning)", peripheral: service.peripheral.id,
            service: service.uuid, characteristic: key.key.characteristic,
            cause: ControlPointError(opcode: opcode, result: result, parameter: parameter))
    }
}
