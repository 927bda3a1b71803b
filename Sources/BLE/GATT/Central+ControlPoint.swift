internal import Synchronization

/// Requests to control points, which a notification or an indication answers.
extension Central {
    func request(
        _ value: [UInt8], on key: CharacteristicKey, of id: Peripheral.ID, timeout: Duration?,
        matching isAnswer: @escaping @Sendable ([UInt8]) -> Bool
    ) async throws(BLEError) -> [UInt8] {
        let target = try await resolve(key, on: id)
        try require([.write, .writeWithoutResponse], "writing", of: target)
        try require([.notify, .indicate], "notifications", of: target)
        let type: WriteType = target.characteristic.properties.contains(.write) ? .withResponse : .withoutResponse
        if type == .withoutResponse { try await checkPacket(value.count, 0, target) }
        let timeout = timeout ?? configuration.operationTimeout
        do throws(BLEError) {
            try link(id).requests.begin(target.attribute)
            defer {
                links[id]?.requests.end(target.attribute)
                removeLinkIfUnused(id)
            }
            let end = elapsed() + timeout
            if let answer = links[id]?.requests.lateAnswer(of: target.attribute) {
                try await perform(on: id, timeout: timeout, name: "waiting for the answer to an earlier request") {
                    (_) throws(BLEError) in await answer.value
                }
            }
            let answers = try await subscribe(
                to: key, of: id, overflow: .fail(capacity: 64), timeout: max(.zero, end - elapsed())
            ).packets
            let sending = Sending()
            do throws(BLEError) {
                return try await perform(
                    on: id, timeout: max(.zero, end - elapsed()), name: "waiting for the answer"
                ) { [weak self] (_) throws(BLEError) in
                    guard let self else { throw .shutDown }
                    return try await self.exchange(value, type, target, answers, sending, isAnswer)
                }
            } catch {
                if [.cancelled, .timedOut].contains(error.code), sending.hasBegun {
                    awaitLateAnswer(target.attribute, answers, isAnswer)
                }
                throw error
            }
        } catch {
            var error = error
            // The timeout covers all steps, so the message does not single out the one in progress.
            if error.code == .timedOut {
                error.message = "subscribing, writing and receiving the answer took longer than \(timeout)"
            }
            throw error.at(id, service: target.service.uuid, characteristic: target.characteristic.uuid)
        }
    }

    /// Keeps waiting for the answer to an abandoned request, in the background, so that it is not taken for the answer
    /// to the next one. The next request waits for this to end.
    private func awaitLateAnswer(
        _ attribute: AttributeID, _ answers: BoundedStream<NotificationPacket>,
        _ isAnswer: @escaping @Sendable ([UInt8]) -> Bool
    ) {
        let task = Task {
            _ = try? await perform(
                on: attribute.peripheral, timeout: Self.lateAnswerTimeout,
                name: "waiting for the answer to an abandoned request"
            ) { (_) throws(BLEError) in
                for try await packet in answers {
                    guard case .value(let answer) = packet, !isAnswer(answer) else { return }
                }
            }
            links[attribute.peripheral]?.requests.setLateAnswer(of: attribute, nil)
            removeLinkIfUnused(attribute.peripheral)
        }
        link(attribute.peripheral).requests.setLateAnswer(of: attribute, task)
    }

    private static let lateAnswerTimeout = Duration.seconds(5)

    /// Writes a request, and returns the first value after it that is an answer.
    private func exchange(
        _ value: [UInt8], _ type: WriteType, _ target: Target, _ answers: BoundedStream<NotificationPacket>,
        _ sending: Sending, _ isAnswer: @Sendable ([UInt8]) -> Bool
    ) async throws(BLEError) -> [UInt8] {
        try await operate(.write(value, type: type, offset: 0), on: target, timeout: nil) {
            // A value that arrived before this request cannot be its answer.
            answers.discardWaiting()
            sending.begin()
        }
        for try await packet in answers {
            switch packet {
            case .value(let answer): if isAnswer(answer) { return answer }
            case .gap(let error): throw error
            }
        }
        throw BLEError(.disconnected, "the notifications ended before the answer arrived")
    }
}

/// Whether a request may have reached the peripheral.
private final class Sending: Sendable {
    private let isUnderWay = Mutex(false)

    var hasBegun: Bool { isUnderWay.withLock { $0 } }
    func begin() { isUnderWay.withLock { $0 = true } }
}
