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
        var metadata: Logger.Metadata = [
            "central": "\(central)", "peripheral": "\(attribute.peripheral)", "handle": "\(attribute.handle)",
            "written": "\(Hex.string(value))",
        ]
        do throws(ATTError) {
            try await body()
            logger.trace("simulated write without response: done", metadata: metadata)
        } catch {
            metadata["error"] = "\(error)"
            logger.trace("simulated write without response: failed", metadata: metadata)
            throw error
        }
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
        radio.logger.trace("simulated \(name)", metadata: metadata)
        let begin = radio.time.now()
        do throws(BLEError) {
            let value = try await body()
            metadata["took"] = "\(radio.time.now() - begin)"
            if let bytes = value as? [UInt8] { metadata["value"] = "\(Hex.string(bytes))" }
            radio.logger.trace("simulated \(name): done", metadata: metadata)
            return value
        } catch {
            metadata["took"] = "\(radio.time.now() - begin)"
            metadata["error"] = "\(error.code): \(error.message)"
            radio.logger.trace("simulated \(name): failed", metadata: metadata)
            throw error
        }
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
