/// Requests to control points, and writers.
extension Peripheral {
    /// Writes a request to a control point and returns its answer: the next value that the characteristic notifies or
    /// indicates.
    ///
    /// Subscribes for the duration of the request, unless there is a subscription already. To send many requests, keep
    /// a stream of ``notifications(_:delivery:overflow:timeout:)`` open, which avoids
    /// switching notifications on and off. Subscribers also receive the answers.
    ///
    /// If a request is abandoned, by cancellation or at its deadline, its answer is awaited for another 5 s, so that it
    /// is not taken for the answer to the next request. The next request waits for that long.
    ///
    /// Throws `requestInProgress` if another request on the same control point is waiting for its answer, `timedOut` if
    /// no answer arrives, `disconnected` if the link ends first, and `notSupported` for a characteristic that cannot be
    /// written or does not notify.
    ///
    /// - Parameters:
    ///   - timeout: the maximum time for subscribing, writing and the answer together, once connected. Nil for the
    ///     configuration's operation timeout.
    ///   - isAnswer: distinguishes answers from other values that the characteristic sends. By default, every value is
    ///     an answer.
    public func request<Value>(
        _ value: Value, on characteristic: Characteristic<Value>, timeout: Duration? = nil,
        matching isAnswer: @escaping @Sendable (Value) -> Bool = { _ in true }
    ) async throws(BLEError) -> Value {
        let bytes = try characteristic.coding.encode(value)
        let decode = characteristic.decoder(for: id)
        let answer = try await central.request(bytes, on: characteristic.key, of: id, timeout: timeout) { bytes in
            // A value that cannot be decoded counts as the answer, so that the caller receives the error.
            (try? decode(bytes)).map(isAnswer) ?? true
        }
        return try decode(answer)
    }

    /// Writes a request to a control point, and returns its answer, which has another type.
    ///
    /// ```swift
    /// private func brew(_ order: Order, by machine: Peripheral) async throws(BLEError) -> Receipt {
    ///     try await machine.request(order, on: .orders, answer: Receipt.self) { $0.number == order.number }
    /// }
    /// ```
    ///
    /// The characteristic's own type of values is not used. Otherwise like ``request(_:on:timeout:matching:)``. Throws
    /// `invalidValue` if the request cannot be encoded or the answer cannot be decoded. A ``ControlPoint`` has opcodes
    /// and results besides.
    public func request<Answer: ValueCodable, Value>(
        _ request: some ValueCodable, on characteristic: Characteristic<Value>, answer: Answer.Type,
        timeout: Duration? = nil, matching isAnswer: @escaping @Sendable (Answer) -> Bool = { _ in true }
    ) async throws(BLEError) -> Answer {
        let key = characteristic.key
        let answers = Characteristic<Answer>(key.characteristic, service: key.service)
        let decode = answers.decoder(for: id)
        let bytes = try await central.request(try request.encoded(), on: key, of: id, timeout: timeout) { bytes in
            (try? decode(bytes)).map(isAnswer) ?? true
        }
        return try decode(bytes)
    }

    /// Opens a writer for values without response. A characteristic can have one writer at a time.
    ///
    /// Connects if there is no link. Throws `notSupported` for a characteristic that cannot be written without
    /// response, and `busy` while another writer, of this or another program, is open.
    ///
    /// - Parameter timeout: the maximum wait for the system's consent, once connected. Nil for the configuration's
    ///   operation timeout.
    public func packetWriter<Value>(
        to characteristic: Characteristic<Value>, timeout: Duration? = nil
    ) async throws(BLEError) -> PacketWriter<Value> {
        let core = try await central.packetWriter(to: characteristic.key, of: id, timeout: timeout)
        return PacketWriter(core: core, coding: characteristic.coding)
    }
}
