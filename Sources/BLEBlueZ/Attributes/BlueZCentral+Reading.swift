public import BLE
internal import DBus
internal import Waiting

extension BlueZCentral {
    /// Calls `ReadValue`, which also reads long values. The signal of the read is not delivered as a notification.
    public func read(_ characteristic: AttributeID, offset: Int) async throws(BLEError) -> [UInt8] {
        let path = try path(characteristic)
        return try await persisting(at: path) { () throws(BLEError) in
            // A caller that gives up does not end the read, because the signal of the read is still to come.
            let outcome = Outcome<[UInt8]>()
            let call = self.calls.add(on: ObjectTree.device(ofAttribute: path) ?? path) {
                outcome.deliver(.failure($0))
            }
            defer { self.calls.remove(call) }
            Task(executorPreference: self.taskExecutor) {
                await outcome.deliver { () throws(BLEError) in try await self.readValue(path, offset: offset) }
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
        do throws(BLEError) {
            return try await host.ask(call, during: .attribute, timeout: Self.attributeTimeout) {
                [weak self] (body) throws(DBusError) in
                let value = try body.bytes()
                self?.assumeIsolated { $0.endRead(path, value, offset) }
                return value
            }
        } catch {
            endRead(path, nil, offset)
            throw error
        }
    }

    private func beginRead(_ path: String) {
        guard reads.begin(path, delivery(at: path)) else { return }
        setHostDelivery(sieve(path), at: path)
    }

    /// Returns a delivery for the values that arrive while reads are pending.
    private func sieve(_ path: String) -> Deliveries.Deliver {
        { [weak self] value in self?.assumeIsolated { $0.arrived(value, path) } }
    }

    private func arrived(_ value: [UInt8], _ path: String) {
        let (earlier, needsCheck) = reads.arrived(value, path)
        earlier?.send()
        if needsCheck { Task { await letGo(path) } }
    }

    /// Delivers the held value if no answer follows it immediately: then it is a notification.
    private func letGo(_ path: String) async {
        while let number = reads.nextCheck(path) {
            try? await host.fence()
            reads.letGo(path, number)?.send()
        }
    }

    private func endRead(_ path: String, _ value: [UInt8]?, _ offset: Int) {
        let (notification, deliver) = reads.end(path, value, offset: offset)
        if let deliver, delivery(at: path) != nil { setHostDelivery(deliver, at: path) }
        notification?.send()
    }

    /// Sets the delivery of notifications of the characteristic at a path; nil for none.
    func setDelivery(_ deliver: Deliveries.Deliver?, at path: String) {
        guard reads.isReading(path) else { return setHostDelivery(deliver, at: path) }
        reads.setDelivery(deliver, path)
        setHostDelivery(deliver == nil ? nil : sieve(path), at: path)
    }

    private func delivery(at path: String) -> Deliveries.Deliver? {
        host.assumeIsolated { host in host.withDeliveries { $0[path] } }
    }

    private func setHostDelivery(_ deliver: Deliveries.Deliver?, at path: String) {
        host.assumeIsolated { host in host.withDeliveries { $0[path] = deliver } }
    }
}
