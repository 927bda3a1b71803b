internal import BLE
internal import Logging
internal import Synchronization

/// The log messages of a radio. All begin with "simulated", because centrals and hosts log the same events from their
/// side.
extension SimulatedRadio {
    func log(_ state: AdapterState, of adapter: String) {
        logger.debug("simulated adapter", metadata: ["adapter": "\(adapter)", "state": "\(state)"])
    }

    /// Logs that a central begins to scan, changes what it scans for, or stops.
    func traceScan(_ filter: DiscoveryFilter?, of port: Int) {
        guard isTracing else { return }
        var metadata: Logger.Metadata = ["central": "\(Self.central(port))"]
        if let filter {
            metadata["transport"] = "\(filter.transport)"
            if filter.isPassive { metadata["passive"] = "true" }
        }
        logger.trace(filter == nil ? "simulated scan ended" : "simulated scan", metadata: metadata)
    }

    /// Logs the end of a central's subscription, and the confirmation of an indication.
    func trace(_ name: String, _ handle: UInt16, _ id: Peripheral.ID, by central: DeviceID) {
        guard isTracing else { return }
        logger.trace(
            "simulated \(name)",
            metadata: ["central": "\(central)", "peripheral": "\(id)", "handle": "\(handle)"])
    }

    func trace(_ advertisement: Advertisement, from id: Peripheral.ID, to port: Int) {
        logger.trace(
            "simulated advertisement",
            metadata: [
                "central": "\(Self.central(port))", "peripheral": "\(id)",
                "rssi": "\(advertisement.rssi.map(String.init) ?? "-")",
            ])
    }

    /// Logs a value that a peripheral notifies to a central.
    func traceNotification(_ value: [UInt8], _ handle: UInt16, _ id: Peripheral.ID, to port: Int) {
        logger.trace(
            "simulated notification",
            metadata: [
                "central": "\(Self.central(port))", "peripheral": "\(id)", "handle": "\(handle)",
                "value": "\(Hex.string(value))",
            ])
    }

    /// Logs a value that a peripheral has sent, and that does not reach a subscriber.
    ///
    /// - Parameter isDropped: whether the subscriber has no room for it.
    func traceLoss(of value: [UInt8], _ handle: UInt16, _ id: Peripheral.ID, isDropped: Bool = false) {
        guard isTracing else { return }
        logger.trace(
            isDropped ? "simulated value dropped" : "simulated value lost",
            metadata: ["peripheral": "\(id)", "handle": "\(handle)", "value": "\(Hex.string(value))"])
    }

    /// Logs what a fault does to an event.
    func trace(
        _ disturbance: FaultPlan.Disturbance, of kind: SimulatedEvent.Kind, at peripheral: Peripheral.ID?,
        handle: UInt16?
    ) {
        var metadata: Logger.Metadata = [
            "event": "\(kind)", "effect": "\(disturbance.effect)", "fault": "\(disturbance.fault.number)",
        ]
        if let peripheral { metadata["peripheral"] = "\(peripheral)" }
        if let handle { metadata["handle"] = "\(handle)" }
        logger.trace("simulated disturbance", metadata: metadata)
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
    ///
    /// - Parameter id: nil for all of the radio.
    nonisolated func log(fault: @autoclosure () -> String, of id: Peripheral.ID?) {
        logger.debug("simulated fault", metadata: ["fault": "\(fault())", "peripheral": "\(id?.rawValue ?? "any")"])
    }
}

extension SimulatedBackend {
    /// Performs a central's request to a peripheral, as the faults allow it, and logs it with the answer.
    ///
    /// - Parameter kind: what faults know it as. Nil if they do not.
    func perform<Value: Sendable>(
        _ name: String, _ kind: SimulatedEvent.Kind?, _ peripheral: Peripheral.ID, handle: UInt16? = nil,
        offset: Int = 0, writes written: [UInt8]? = nil, _ body: () async throws(BLEError) -> Value
    ) async throws(BLEError) -> Value {
        guard radio.isTracing else { return try await disturbed(kind, peripheral, handle, body) }
        var metadata: Logger.Metadata = [
            "central": "\(SimulatedRadio.central(port))", "peripheral": "\(peripheral)",
        ]
        if let handle { metadata["handle"] = "\(handle)" }
        if offset != 0 { metadata["offset"] = "\(offset)" }
        if let written { metadata["written"] = "\(Hex.string(written))" }
        return try await radio.logger.traced(
            "simulated \(name)", metadata, elapsed: radio.time.now
        ) { () throws(BLEError) in
            try await disturbed(kind, peripheral, handle, body)
        }
    }

    private func disturbed<Value: Sendable>(
        _ kind: SimulatedEvent.Kind?, _ peripheral: Peripheral.ID, _ handle: UInt16?,
        _ body: () async throws(BLEError) -> Value
    ) async throws(BLEError) -> Value {
        guard let kind, radio.isDisturbed.load(ordering: .relaxed) else { return try await body() }
        let admission = try await radio.admit(kind, at: peripheral, handle: handle, port)
        guard admission.losesLink else { return try await crossed(kind, peripheral, body) }
        let answer: Result<Value, BLEError>
        do throws(BLEError) { answer = .success(try await crossed(kind, peripheral, body)) } catch {
            answer = .failure(error)
        }
        if kind == .connect {
            // The link is there only now.
            if case .success = answer { await radio.loseLink(of: port, to: peripheral) }
            return try answer.get()
        }
        let isLost =
            if let link = admission.link { await radio.loseLink(link, of: port, to: peripheral) } else { false }
        switch answer {
        // Nobody waits for an answer over the link.
        case .success(let value) where kind == .disconnect: return value
        // An error is an answer, too, unless the link was lost before, or the caller has given up.
        case .failure(let error) where !isLost || error.code == .cancelled: throw error
        default: throw SimulatedRadio.linkLost
        }
    }

    /// Lets a request cross the link, and its answer.
    private func crossed<Value: Sendable>(
        _ kind: SimulatedEvent.Kind, _ peripheral: Peripheral.ID, _ body: () async throws(BLEError) -> Value
    ) async throws(BLEError) -> Value {
        guard [.discover, .read, .write, .subscribe, .pair].contains(kind) else { return try await body() }
        let link = try await radio.cross(peripheral, port)
        let answer: Result<Value, BLEError>
        do throws(BLEError) { answer = .success(try await body()) } catch { answer = .failure(error) }
        if let link, try await radio.cross(peripheral, port, over: link) == nil {
            // The link has ended. An answer is lost; an error tells why.
            if case .success = answer { throw SimulatedRadio.linkLost }
        }
        return try answer.get()
    }

    /// The same for a request about an attribute.
    func perform<Value: Sendable>(
        _ name: String, _ kind: SimulatedEvent.Kind?, _ attribute: AttributeID, offset: Int = 0,
        writes written: [UInt8]? = nil, _ body: () async throws(BLEError) -> Value
    ) async throws(BLEError) -> Value {
        try await perform(
            name, kind, attribute.peripheral, handle: attribute.handle, offset: offset, writes: written, body)
    }
}

extension Logger {
    /// Returns a logger whose messages have the time of a simulation, as `time`.
    func timed(_ time: ElapsedTime) -> Logger {
        Logger(label: label) { _ in TimedLogHandler(base: handler, time: time) }
    }
}

private struct TimedLogHandler: LogHandler {
    var base: any LogHandler
    let time: ElapsedTime

    var logLevel: Logger.Level {
        get { base.logLevel }
        set { base.logLevel = newValue }
    }

    var metadata: Logger.Metadata {
        get { base.metadata }
        set { base.metadata = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { base[metadataKey: key] }
        set { base[metadataKey: key] = newValue }
    }

    func log(event: LogEvent) {
        var event = event
        event.metadata = (event.metadata ?? [:]).merging(["time": "\(time.now())"]) { own, _ in own }
        base.log(event: event)
    }
}
