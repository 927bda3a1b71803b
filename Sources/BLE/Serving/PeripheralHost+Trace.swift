internal import Logging

/// What a host's logger receives: at trace level, each request with its value, its answer and its time, each value that
/// is sent, and what is advertised; at debug level, each event.
extension PeripheralHost {
    /// Answers a request or sends a value, and logs it.
    ///
    /// - Parameters:
    ///   - central: the central that asks, or that the value is sent to. Nil for all subscribers.
    ///   - written: the value that the central writes.
    ///   - sent: the value that the central receives.
    func traced<Value: Sendable, Failure: Error>(
        _ name: String, _ attribute: ServedAttribute, _ central: DeviceID?, offset: Int = 0,
        writes written: [UInt8]? = nil, sends sent: [UInt8]? = nil, _ body: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        guard isTracing else { return try await body() }
        var metadata: Logger.Metadata = ["central": "\(central?.rawValue ?? "all")"]
        if let place = place(of: attribute) {
            metadata["characteristic"] = "\(place.characteristic)"
            if let descriptor = place.descriptor { metadata["descriptor"] = "\(descriptor)" }
        }
        if offset != 0 { metadata["offset"] = "\(offset)" }
        if let written { metadata["written"] = "\(Hex.string(written))" }
        if let sent { metadata["value"] = "\(Hex.string(sent))" }
        return try await logger.traced(name, metadata, elapsed: elapsed, body)
    }

    /// Returns what sends a subscription's values from any thread, and logs each that it has sent. If nothing is
    /// traced, returns it unchanged.
    func traced(_ sender: ValueSender?, _ attribute: ServedAttribute, _ central: DeviceID?) -> ValueSender? {
        guard isTracing, let sender else { return sender }
        let logger = logger
        let characteristic = place(of: attribute)?.characteristic.description ?? "-"
        return ValueSender { value in
            guard await sender.send(value) else { return false }
            logger.trace(
                "notifying: done",
                metadata: [
                    "central": "\(central?.rawValue ?? "all")", "characteristic": "\(characteristic)",
                    "value": "\(Hex.string(value))",
                ])
            return true
        }
    }

    func trace(_ parameters: AdvertisingParameters) {
        var metadata: Logger.Metadata = ["services": "\(parameters.serviceUUIDs)"]
        if let name = parameters.localName { metadata["name"] = "\(name)" }
        for (company, data) in parameters.manufacturerData {
            metadata["company \(Hex.string([UInt8(company >> 8), UInt8(company & 0xFF)]))"] = "\(Hex.string(data))"
        }
        for (service, data) in parameters.serviceData { metadata["service \(service)"] = "\(Hex.string(data))" }
        logger.trace("advertising", metadata: metadata)
    }

    /// Delivers an event to the streams of events, and logs it.
    func yield(_ event: PeripheralHostEvent) {
        switch event {
        case .centralConnected(let central): logger.debug("central connected", metadata: ["central": "\(central)"])
        case .centralDisconnected(let central):
            logger.debug("central disconnected", metadata: ["central": "\(central)"])
        case .subscribed(let subscriber): logger.debug("subscribed", metadata: subscriber.metadata)
        case .unsubscribed(let subscriber): logger.debug("unsubscribed", metadata: subscriber.metadata)
        case .servicesLost(let error): logger.debug("services lost", metadata: ["error": "\(error)"])
        case .servicesRestored: logger.debug("services restored")
        case .advertisingStarted: logger.debug("advertising started")
        case .advertisingEnded(let error):
            logger.debug("advertising ended", metadata: error.map { ["error": "\($0)"] } ?? [:])
        // Logged where it is reported, at info level.
        case .failed: break
        }
        observers.yield(event)
    }
}

extension PeripheralHostEvent.Subscriber {
    fileprivate var metadata: Logger.Metadata {
        var metadata: Logger.Metadata = [
            "central": "\(central?.rawValue ?? "all")", "characteristic": "\(characteristic)",
        ]
        if let attMTU { metadata["attMTU"] = "\(attMTU)" }
        return metadata
    }
}
