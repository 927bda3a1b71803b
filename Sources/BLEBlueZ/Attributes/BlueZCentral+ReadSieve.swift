internal import BLE
internal import DBus

extension BlueZCentral {
    /// Begins a read, whose signal is not delivered as a notification.
    func beginRead(_ path: String) {
        guard reads.begin(path, delivery(at: path)) else { return }
        setHostDelivery(sieve(path), at: path)
    }

    /// Returns a delivery for the values that arrive while reads are pending.
    private func sieve(_ path: String) -> Deliveries.Delivery {
        Deliveries.Delivery { [weak self] value in self?.enter { $0.arrived(value, path) } }
    }

    private func arrived(_ value: [UInt8], _ path: String) {
        let (earlier, needsCheck) = reads.arrived(value, path)
        earlier?.send()
        if needsCheck { Task { await letGo(path) } }
    }

    /// Delivers the held value as a notification, unless the answer of a read follows it immediately.
    private func letGo(_ path: String) async {
        while let number = reads.nextCheck(path) {
            try? await stack.fence()
            reads.letGo(path, number)?.send()
        }
    }

    /// Ends a read with the value in the answer; nil for a failure.
    func endRead(_ path: String, _ value: [UInt8]?, _ offset: Int) {
        ended(path, reads.end(path, value, offset: offset))
    }

    /// Ends a read that was not sent.
    func withdrawRead(_ path: String) { ended(path, reads.withdraw(path)) }

    private func ended(_ path: String, _ end: (notification: ReadTable.Notification?, deliver: Deliveries.Delivery?)) {
        let (notification, deliver) = end
        if let deliver, delivery(at: path) != nil { setHostDelivery(deliver, at: path) }
        notification?.send()
    }

    /// Sets the delivery of notifications of the characteristic at a path; nil for none.
    func setDelivery(_ deliver: Deliveries.Delivery?, at path: String) {
        guard reads.isReading(path) else { return setHostDelivery(deliver, at: path) }
        reads.setDelivery(deliver, path)
        setHostDelivery(deliver == nil ? nil : sieve(path), at: path)
    }

    private func delivery(at path: String) -> Deliveries.Delivery? {
        stack.enter { stack in stack.withDeliveries { $0[path] } }
    }

    private func setHostDelivery(_ deliver: Deliveries.Delivery?, at path: String) {
        stack.enter { stack in stack.withDeliveries { $0[path] = deliver } }
    }
}
