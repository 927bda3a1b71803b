public import BLE
internal import DBus

/// The pending reads of one characteristic, and the notifications that arrive meanwhile.
///
/// bluetoothd shows a read value as a changed property, in the same way as a notified value. It sends the signal of a
/// read immediately before the answer (`chrc_read_cb` in its `src/gatt-client.c`): the last value before the answer is
/// the one that was read. Therefore the last value is held back until the next message shows whether it was read.
struct PendingReads {
    var count = 0
    /// Receives the notifications; nil while they are off.
    var deliver: (@Sendable ([UInt8]) -> Void)?
    /// The last value, which may be that of a read, and its number.
    var held: (value: [UInt8], number: Int)?
    /// Whether a check of the held value is in progress.
    var isAsking = false

    /// Holds a new value, and returns the previously held value, which was a notification.
    mutating func hold(_ value: [UInt8], number: Int) -> [UInt8]? {
        defer { held = (value, number) }
        return held?.value
    }

    /// Completes a read, with nil for a failure. Returns the held value unless it is the value that was read.
    mutating func answered(_ value: [UInt8]?, offset: Int) -> [UInt8]? {
        guard let held = held.take()?.value else { return nil }
        // The property has the whole value, the answer only the part from the offset on.
        if let value, held.dropFirst(offset) == value[...] { return nil }
        return held
    }

    /// Returns the value with that number if it is still held: no answer to a read has followed it.
    mutating func letGo(_ number: Int) -> [UInt8]? {
        guard held?.number == number else { return nil }
        return held.take()?.value
    }
}

extension BlueZBackend {
    /// Calls `ReadValue`, which also reads long values. The signal of the read is not delivered as a notification.
    public func read(_ characteristic: AttributeID, offset: Int) async throws(BLEError) -> [UInt8] {
        let path = try path(characteristic)
        return try await persisting(at: path) { () throws(BLEError) in
            // A caller that gives up does not end the read, because the signal of the read is still to come.
            let outcome = Outcome<[UInt8]>()
            let token = self.noteCall(on: ObjectTree.device(ofAttribute: path) ?? path) {
                outcome.deliver(.failure($0))
            }
            defer { self.attributeCalls[token] = nil }
            Task {
                do throws(BLEError) {
                    outcome.deliver(.success(try await self.readValue(path, offset: offset)))
                } catch {
                    outcome.deliver(.failure(error))
                }
            }
            return try await outcome.wait()
        }
    }

    private func readValue(_ path: String, offset: Int) async throws(BLEError) -> [UInt8] {
        let options = DBusValue.options(offset == 0 ? [:] : ["offset": .uint16(UInt16(clamping: offset))])
        var call = BlueZ.call(path, BlueZ.gattCharacteristic, "ReadValue", options)
        call.pace = .slow
        call.object = ObjectTree.device(ofAttribute: path)
        beginRead(path)
        do throws(DBusError) {
            return try await openSession().ask(call, timeout: Self.attributeTimeout) {
                [weak self] (body) throws(DBusError) in
                let value = try body.bytes()
                self?.assumeIsolated { $0.endRead(path, value, offset) }
                return value
            }
        } catch {
            endRead(path, nil, offset)
            throw BLEError(error, during: .attribute)
        }
    }

    private func beginRead(_ path: String) {
        if let deliver = deliveries[path], reads[path] == nil {
            reads[path] = PendingReads(deliver: deliver)
            deliveries[path] = sieve(path)
        }
        reads[path, default: PendingReads()].count += 1
    }

    /// Returns a delivery for the values that arrive while reads are pending.
    private func sieve(_ path: String) -> @Sendable ([UInt8]) -> Void {
        { [weak self] value in self?.assumeIsolated { $0.arrived(value, path) } }
    }

    private func arrived(_ value: [UInt8], _ path: String) {
        guard var pending = reads[path] else { return }
        let earlier = pending.hold(value, number: token())
        let isAsking = pending.isAsking
        pending.isAsking = true
        reads[path] = pending
        if let earlier { pending.deliver?(earlier) }
        if !isAsking { Task { await letGo(path) } }
    }

    /// Delivers the held value if no answer follows it immediately: then it is a notification.
    private func letGo(_ path: String) async {
        while let number = reads[path]?.held?.number {
            try? await fence()
            guard let value = reads[path]?.letGo(number) else { continue }
            reads[path]?.deliver?(value)
        }
        reads[path]?.isAsking = false
    }

    private func endRead(_ path: String, _ value: [UInt8]?, _ offset: Int) {
        guard var pending = reads[path] else { return }
        let held = pending.answered(value, offset: offset)
        pending.count -= 1
        reads[path] = pending.count > 0 ? pending : nil
        if pending.count == 0, deliveries[path] != nil, let deliver = pending.deliver { deliveries[path] = deliver }
        if let held { pending.deliver?(held) }
    }

    /// Sets the delivery of notifications of the characteristic at a path; nil for none.
    func setDelivery(_ deliver: (@Sendable ([UInt8]) -> Void)?, at path: String) {
        guard reads[path] != nil else {
            deliveries[path] = deliver
            return
        }
        reads[path]?.deliver = deliver
        if deliver == nil { reads[path]?.held = nil }
        deliveries[path] = deliver == nil ? nil : sieve(path)
    }
}
