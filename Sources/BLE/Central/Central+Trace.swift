internal import Logging

/// What a logger at trace level sees: each operation with its value, its result and its time, each received value and
/// advertisement, each state.
extension Central {
    /// Runs an operation, and logs it.
    ///
    /// - Parameter written: the value that it writes.
    func traced<Value: Sendable>(
        _ name: String, on peripheral: Peripheral.ID?, _ characteristic: BluetoothUUID? = nil,
        writes written: [UInt8]? = nil,
        _ body: () async throws(BLEError) -> Value
    ) async throws(BLEError) -> Value {
        guard isTracing else { return try await body() }
        // What the caller's task adds to all its messages, such as the number of a request.
        var metadata = Logger.current.handler.metadata
        if let peripheral { metadata["peripheral"] = "\(peripheral)" }
        if let characteristic { metadata["characteristic"] = "\(characteristic)" }
        if let written { metadata["written"] = "\(Hex.string(written))" }
        return try await logger.traced(name, metadata, elapsed: elapsed, body)
    }

    /// Returns what logs the values of an attribute. Nil if nothing is traced: a delivery that has nothing to log has
    /// one reference, to its readers.
    nonisolated func valueTrace(of attribute: AttributeID) -> ValueTrace? {
        isTracing ? ValueTrace(attribute: attribute, logger: configuration.logger) : nil
    }

    struct ValueTrace: Sendable {
        fileprivate let attribute: AttributeID
        fileprivate let logger: Logger

        func log(_ value: [UInt8]) {
            logger.trace(
                "value received",
                metadata: [
                    "peripheral": "\(attribute.peripheral)", "handle": "\(attribute.handle)",
                    "value": "\(Hex.string(value))",
                ])
        }
    }

    func trace(_ advertisement: Advertisement, from id: Peripheral.ID) {
        logger.trace(
            "advertisement received",
            metadata: ["peripheral": "\(id)", "rssi": "\(advertisement.rssi.map(String.init) ?? "-")"])
    }
}

extension DiscoveryFilter: CustomStringConvertible {
    /// The filter in words, such as `le, service 180d, at least -70 dBm`.
    public var description: String {
        var words = [transport.rawValue]
        if !services.isEmpty {
            words.append("service " + services.sorted().map(\.description).joined(separator: " or "))
        }
        if !manufacturers.isEmpty {
            let companies = manufacturers.sorted().map { Hex.string([UInt8($0 >> 8), UInt8($0 & 0xFF)]) }
            words.append("company " + companies.joined(separator: " or "))
        }
        if let minimumRSSI { words.append("at least \(minimumRSSI) dBm") }
        if isPassive { words.append("passive") }
        return words.joined(separator: ", ")
    }
}
