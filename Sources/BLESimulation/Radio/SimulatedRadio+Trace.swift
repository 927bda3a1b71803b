internal import BLE
internal import Logging

/// The log messages of a radio. All begin with "simulated", because centrals and hosts log the same events from their
/// side.
extension SimulatedRadio {
    func trace(_ advertisement: Advertisement, from id: Peripheral.ID, to port: Int) {
        logger.trace(
            "simulated advertisement",
            metadata: [
                "central": "\(Self.central(port))", "peripheral": "\(id)",
                "rssi": "\(advertisement.rssi.map(String.init) ?? "-")",
            ])
    }

    /// Logs a value that a peripheral notifies, if a central is subscribed.
    func traceNotification(_ value: [UInt8], _ handle: UInt16, _ id: Peripheral.ID) {
        guard let link = peripherals[id]?.link, link.subscriptions[handle] != nil else { return }
        logger.trace(
            "simulated notification",
            metadata: [
                "central": "\(Self.central(link.port))", "peripheral": "\(id)", "handle": "\(handle)",
                "value": "\(Hex.string(value))",
            ])
    }

    /// Performs a write without response, and logs it with the answer, which the central does not receive.
    nonisolated func traced(
        _ value: [UInt8], to attribute: AttributeID, of central: Peripheral.ID,
        _ body: () async throws(ATTError) -> Void
    ) async throws(ATTError) {
        guard isTracing else { return try await body() }
        let metadata: Logger.Metadata = [
            "central": "\(central)", "peripheral": "\(attribute.peripheral)", "handle": "\(attribute.handle)",
            "written": "\(Hex.string(value))",
        ]
        try await logger.traced("simulated write without response", metadata, elapsed: time.now, body)
    }

    /// Logs a fault that a test causes.
    nonisolated func log(fault: @autoclosure () -> String, of id: Peripheral.ID) {
        logger.debug("simulated fault", metadata: ["fault": "\(fault())", "peripheral": "\(id)"])
    }
}

extension SimulatedBackend {
    /// Performs a central's request to a peripheral, and logs it with the answer.
    func traced<Value: Sendable>(
        _ name: String, _ peripheral: Peripheral.ID, handle: UInt16? = nil, offset: Int = 0,
        writes written: [UInt8]? = nil, _ body: () async throws(BLEError) -> Value
    ) async throws(BLEError) -> Value {
        guard radio.isTracing else { return try await body() }
        var metadata: Logger.Metadata = [
            "central": "\(SimulatedRadio.central(port))", "peripheral": "\(peripheral)",
        ]
        if let handle { metadata["handle"] = "\(handle)" }
        if offset != 0 { metadata["offset"] = "\(offset)" }
        if let written { metadata["written"] = "\(Hex.string(written))" }
        return try await radio.logger.traced("simulated \(name)", metadata, elapsed: radio.time.now, body)
    }

    /// The same for a request about an attribute.
    func traced<Value: Sendable>(
        _ name: String, _ attribute: AttributeID, offset: Int = 0, writes written: [UInt8]? = nil,
        _ body: () async throws(BLEError) -> Value
    ) async throws(BLEError) -> Value {
        try await traced(
            name, attribute.peripheral, handle: attribute.handle, offset: offset, writes: written, body)
    }
}
