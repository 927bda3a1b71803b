public import BLE

/// The record access control point of a service that stores records (GATT Specification Supplement, Record Access
/// Control Point).
///
/// All operations throw `characteristicNotFound` if the service does not store records, `procedureFailed` with a
/// ``RecordAccessResult`` if the device cannot perform the request, `requestInProgress` while another request of this
/// central waits for its answer, `attributeError` if the device rejects the request, for example with 0x80 or 0xFE
/// while it serves another central, and `timedOut` without an answer.
public struct RecordAccessControlPoint: Sendable {
    /// The service that stores the records.
    public let service: PeripheralService

    /// Creates a client for the control point of a service. Nothing is sent yet.
    public init(of service: PeripheralService) {
        self.service = service
    }

    /// Returns the number of selected records.
    public func recordCount(
        _ selection: RecordSelection = .all, timeout: Duration? = nil
    ) async throws(BLEError) -> Int {
        do throws(BLEError) {
            return try await count(.reportRecordCount, selection, timeout)
        } catch {
            if error.result(RecordAccessResult.self) == .noRecordsFound { return 0 }
            throw error
        }
    }

    /// Deletes the selected records permanently. If there are none, the result is
    /// ``RecordAccessResult/noRecordsFound``.
    public func delete(_ selection: RecordSelection, timeout: Duration? = nil) async throws(BLEError) {
        try check(
            await request(.deleteRecords, selection, timeout), of: .deleteRecords)
    }

    /// Makes the device send the selected records as values of characteristics, to their subscribers. Returns when all
    /// are sent.
    ///
    /// In most cases, use ``records(_:of:timeout:malformed:)`` instead.
    ///
    /// Cancellation or a timeout of this call does not stop the device. ``abort(timeout:)`` does.
    ///
    /// If there are no records, the result is ``RecordAccessResult/noRecordsFound``. After ``abort(timeout:)``, the
    /// result is ``RecordAccessResult/procedureNotCompleted``.
    public func report(_ selection: RecordSelection = .all, timeout: Duration?) async throws(BLEError) {
        try check(await request(.reportRecords, selection, timeout), of: .reportRecords)
    }

    /// Makes the device send the selected records, like ``report(_:timeout:)``, and returns their number. Few devices
    /// support this.
    public func combinedReport(
        _ selection: RecordSelection = .all, timeout: Duration?
    ) async throws(BLEError) -> Int {
        try await count(.combinedReport, selection, timeout)
    }

    /// Stops the current report or deletion. The result is ``RecordAccessResult/abortUnsuccessful`` if the device
    /// cannot stop, or if there is nothing to stop.
    public func abort(timeout: Duration? = nil) async throws(BLEError) {
        let key = service.key(.recordAccessControlPoint)
        // This does not use a request, because the request to be stopped may still wait for its answer.
        let answers = try await service.notifications(.recordAccessControlPoint)
        let answer: RecordAccessMessage? = try await typed {
            try await service.peripheral.central.withDeadline(self.timeout(timeout)) {
                try await service.write(RecordAccessMessage(.abort), to: .recordAccessControlPoint)
                for try await answer in answers where answer.isAnswer(to: .abort) { return answer }
                return nil
            }
        }
        guard let answer else {
            throw BLEError(.disconnected, "the indications ended before the answer arrived").at(
                service.peripheral.id, service: service.uuid, characteristic: key.uuid)
        }
        try check(answer, of: .abort)
    }

    /// Returns the given timeout, or else the configuration's operation timeout.
    func timeout(_ timeout: Duration?) -> Duration {
        timeout ?? service.peripheral.central.configuration.operationTimeout
    }

    private func count(
        _ opcode: RecordAccessMessage.Opcode, _ selection: RecordSelection, _ timeout: Duration?
    ) async throws(BLEError) -> Int {
        let answer = try await request(opcode, selection, timeout)
        guard answer.opcode != .response else {
            try check(answer, of: opcode)
            throw invalid(answer, "does not contain a number")
        }
        // The service defines the width. All known services use two bytes.
        guard 1...4 ~= answer.operand.count else { throw invalid(answer, "does not contain a number of records") }
        return answer.operand.reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    private func request(
        _ opcode: RecordAccessMessage.Opcode, _ selection: RecordSelection, _ timeout: Duration?
    ) async throws(BLEError) -> RecordAccessMessage {
        let message = RecordAccessMessage(opcode, of: selection)
        let key = service.key(.recordAccessControlPoint)
        return try await service.peripheral.request(message, on: key, timeout: timeout) {
            $0.isAnswer(to: opcode) || ($0.isAbortion && opcode != .reportRecordCount)
        }
    }

    /// Throws unless the answer reports success.
    private func check(_ answer: RecordAccessMessage, of opcode: RecordAccessMessage.Opcode) throws(BLEError) {
        guard answer.opcode == .response, answer.operand.count >= 2 else {
            throw invalid(answer, "does not contain a result")
        }
        let isAborted = answer.isAbortion && opcode != .abort
        let result = isAborted ? .procedureNotCompleted : RecordAccessResult(rawValue: answer.operand[1])
        try ControlPoint<RecordAccessResult>(
            Characteristic.recordAccessControlPoint.uuid, of: service,
            responseOpcode: RecordAccessMessage.Opcode.response.rawValue
        ).check(result, of: opcode.rawValue)
    }

    private func invalid(_ answer: RecordAccessMessage, _ what: String) -> BLEError {
        BLEError(.invalidValue, "the answer of the record access control point \(what): \(answer)").at(
            service.peripheral.id, service: service.uuid,
            characteristic: Characteristic.recordAccessControlPoint.uuid)
    }
}

extension RecordAccessMessage {
    /// Whether the message answers a request with the given opcode.
    func isAnswer(to request: Opcode) -> Bool {
        switch opcode {
        case .response: operand.first == request.rawValue
        case .recordCountResponse: request == .reportRecordCount
        case .combinedReportResponse: request == .combinedReport
        default: false
        }
    }

    /// Whether the message confirms an abort. The aborted request then has no answer of its own.
    var isAbortion: Bool { self == .response(to: .abort, .success) }
}

/// Returns the result of `body`, and throws any error as a `BLEError`.
func typed<Value>(_ body: () async throws -> Value) async throws(BLEError) -> Value {
    do {
        return try await body()
    } catch {
        throw error as? BLEError ?? BLEError(.failed, "\(error)", cause: error)
    }
}
