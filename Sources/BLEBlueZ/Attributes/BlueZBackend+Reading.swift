public import BLE
internal import DBus

/// Reads of one characteristic that bluetoothd has not answered yet, and the notifications that arrive meanwhile.
///
/// bluetoothd shows a value that is read as a changed property, just as it shows one that is notified. It sends the signal of a
/// read, and right behind it the answer (`chrc_read_cb` in its `src/gatt-client.c`): the last value before the answer is the
/// one that was read. So the last value is held back until the next message tells what it is.
struct PendingReads {
    var count = 0
    /// Who takes the notifications; nil while they are off.
    var deliver: (@Sendable ([UInt8]) -> Void)?
    /// The last value, which may be a read's, and its number.
    var held: (value: [UInt8], number: Int)?
    /// Somebody finds out whether what is held is a read's.
    var isAsking = false

    /// A value has arrived. What was held before it was a notification, which is returned.
    mutating func hold(_ value: [UInt8], number: Int) -> [UInt8]? {
        defer { held = (value, number) }
        return held?.value
    }

    /// A read was answered, or has failed. What was held is returned unless it is what was read.
    mutating func answered(_ value: [UInt8]?, offset: Int) -> [UInt8]? {
        guard let held = held.take()?.value else { return nil }
        // The property has the whole value, the answer only what follows the offset.
        if let value, held.dropFirst(offset) == value[...] { return nil }
        return held
    }

    /// Nothing that could be a read's came behind the value of that number. It is returned if it is still held.
    mutating func letGo(_ number: Int) -> [UInt8]? {
        guard held?.number == number else { return nil }
        return held.take()?.value
    }
}

extension BlueZBackend {
    /// `ReadValue`, long values included. What arrives as its signal is not delivered as a notification.
    public func read(_ characteristic: AttributeID, offset: Int) async throws(BLEError) -> [UInt8] {
        let path = try path(characteristic)
        return try await persisting(at: path) { () throws(BLEError) in
            // Whoever gives up does not end the read, whose signal is still to come.
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

    /// Takes the values that arrive while there are reads.
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

    /// Delivers what is held if no answer comes right behind it: then it is no read's, and does not wait for one.
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

    /// Who takes the notifications of the characteristic at a path from now on; nil for nobody.
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
