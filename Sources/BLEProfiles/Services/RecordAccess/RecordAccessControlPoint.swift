public import BLE

/// The Record Access Control Point of a service that stores records (GATT Specification Supplement, Record Access Control Point).
///
/// All operations throw `characteristicNotFound` where the service stores nothing, `procedureFailed` with a ``RecordAccessResult``
/// when the device could not do it, `requestInProgress` while another request of this central waits for its answer, `attributeError`
/// when the device refuses at once, as with 0x80 or 0xFE while it serves another central, and `timedOut` without an answer.
public struct RecordAccessControlPoint: Sendable {
    /// The service that stores the records.
    public let service: PeripheralService

    /// The control point of a service. Nothing is sent yet.
    public init(of service: PeripheralService) {
        self.service = service
    }

    /// How many such records there are.
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

    /// Deletes such records, for good. Where there are none, the result is ``RecordAccessResult/noRecordsFound``.
    public func delete(_ selection: RecordSelection, timeout: Duration? = nil) async throws(BLEError) {
        try check(
            await request(.deleteRecords, selection, timeout), of: .deleteRecords)
    }

    /// Has such records sent as values of characteristics of the service, for those who have subscribed to them; returns when all are
    /// sent. Most call ``records(_:of:timeout:)`` instead.
    ///
    /// Cancelling this, or its deadline, does not stop the device; ``abort(timeout:)`` does.
    ///
    /// Where there are none, the result is ``RecordAccessResult/noRecordsFound``; after an ``abort(timeout:)`` it is
    /// ``RecordAccessResult/procedureNotCompleted``.
    public func report(_ selection: RecordSelection = .all, timeout: Duration?) async throws(BLEError) {
        try check(await request(.reportRecords, selection, timeout), of: .reportRecords)
    }

    /// Has such records sent and told how many; otherwise as ``report(_:timeout:)``. Few devices know it.
    public func combinedReport(
        _ selection: RecordSelection = .all, timeout: Duration?
    ) async throws(BLEError) -> Int {
        try await count(.combinedReport, selection, timeout)
    }

    /// Stops the report or the deletion that is under way. The result is ``RecordAccessResult/abortUnsuccessful`` when the device
    /// could not, or has nothing to stop.
    public func abort(timeout: Duration? = nil) async throws(BLEError) {
        let key = service.key(.recordAccessControlPoint)
        // Not as a request: the one to be stopped may wait for its answer.
        let answers = try await service.notifications(.recordAccessControlPoint)
        let answer: RecordAccessMessage? = try await typed {
            try await service.peripheral.central.withDeadline(self.timeout(timeout)) {
                try await service.write(RecordAccessMessage(.abort), to: .recordAccessControlPoint)
                for try await answer in answers where answer.isAnswer(to: .abort) { return answer }
                return nil
            }
        }
        guard let answer else {
            throw BLEError(.disconnected, "the indications ended before the answer came").at(
                service.peripheral.id, service: service.uuid, characteristic: key.uuid)
        }
        try check(answer, of: .abort)
    }

    /// The one that was asked for, or else the configuration's for operations.
    func timeout(_ timeout: Duration?) -> Duration {
        timeout ?? service.peripheral.central.configuration.operationTimeout
    }

    private func count(
        _ opcode: RecordAccessMessage.Opcode, _ selection: RecordSelection, _ timeout: Duration?
    ) async throws(BLEError) -> Int {
        let answer = try await request(opcode, selection, timeout)
        guard answer.opcode != .response else {
            try check(answer, of: opcode)
            throw invalid(answer, "tells no number")
        }
        // Its width is the service's to say, and two bytes in all that there are.
        guard 1...4 ~= answer.operand.count else { throw invalid(answer, "has no number of records") }
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

    /// Throws unless an answer tells success.
    private func check(_ answer: RecordAccessMessage, of opcode: RecordAccessMessage.Opcode) throws(BLEError) {
        guard answer.opcode == .response, answer.operand.count >= 2 else { throw invalid(answer, "has no result") }
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
    /// Whether it answers a request of that kind.
    func isAnswer(to request: Opcode) -> Bool {
        switch opcode {
        case .response: operand.first == request.rawValue
        case .recordCountResponse: request == .reportRecordCount
        case .combinedReportResponse: request == .combinedReport
        default: false
        }
    }

    /// Whether it tells that what was under way has been aborted, which then gets no answer of its own.
    var isAbortion: Bool { self == .response(to: .abort, .success) }
}

/// What `body` returns; whatever it throws as a `BLEError`.
func typed<Value>(_ body: () async throws -> Value) async throws(BLEError) -> Value {
    do {
        return try await body()
    } catch {
        throw error as? BLEError ?? BLEError(.failed, "\(error)", cause: error)
    }
}
