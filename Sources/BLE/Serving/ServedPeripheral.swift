/// A definition that a ``PeripheralHost`` serves. Its values can be read, changed and sent.
///
/// A characteristic is named by its key. If the definition has several of that type, the key's service chooses; without
/// one, the first is used.
public struct ServedPeripheral: Sendable {
    let application: Int
    /// The host that serves it.
    public let host: PeripheralHost

    /// Returns the stored value of a characteristic, which is what centrals read if it has no handler.
    ///
    /// Throws `characteristicNotFound`, and `invalidValue` if the value cannot be decoded.
    public func value<Value>(_ characteristic: Characteristic<Value>) async throws(BLEError) -> Value {
        try characteristic.coding.decode(try await host.storedValue(characteristic.key, of: application))
    }

    /// Stores a value and sends it to all subscribers.
    ///
    /// Throws `characteristicNotFound`, `invalidValue` if the value cannot be encoded, and `invalidLength` if it has
    /// more than 512 bytes or, with subscribers, does not fit a packet; then it is not stored.
    ///
    /// That of a ``ServedValue`` is set as ``ServedValue/set(_:)`` does: wherever it is served, and also if it does not
    /// fit a packet of a subscriber, which then does not receive it.
    public func setValue<Value>(_ value: Value, of characteristic: Characteristic<Value>) async throws(BLEError) {
        try await host.store(try characteristic.coding.encode(value), in: characteristic.key, of: application)
    }

    /// Does the same for the characteristic at a position of the definition.
    package func setValue(_ value: [UInt8], service: Int, characteristic: Int) async throws(BLEError) {
        try await host.store(
            value,
            in: ServedAttribute(application: application, service: service, characteristic: characteristic))
    }

    /// Sends a value to subscribers. It is not stored. Returns when the system has taken it; nothing is sent if there
    /// is no subscriber. To one central, from a characteristic that indicates and does not notify, it may wait until
    /// the central has confirmed the values before, up to 30 s each.
    ///
    /// Throws `characteristicNotFound`, `invalidLength` for a value that does not fit a packet of the link, and
    /// `notSupported` for a central if the system does not tell subscribers apart.
    ///
    /// - Parameter central: the central to send the value to. Nil for all subscribers.
    public func notify<Value>(
        _ value: Value, from characteristic: Characteristic<Value>, to central: DeviceID? = nil
    ) async throws(BLEError) {
        try await host.send(
            try characteristic.coding.encode(value), in: characteristic.key, of: application, to: central,
            confirmed: false)
    }

    /// Sends a value as an indication, and returns when a central has confirmed it. Otherwise like
    /// ``notify(_:from:to:)``.
    ///
    /// To several subscribers, it returns with the first confirmation.
    ///
    /// Throws `timedOut` if there is none within ``PeripheralHost/Configuration/confirmationTimeout``, or if that
    /// passes while earlier indications wait for theirs, and `disconnected` if the subscribers are gone.
    public func indicate<Value>(
        _ value: Value, from characteristic: Characteristic<Value>, to central: DeviceID? = nil
    ) async throws(BLEError) {
        try await host.send(
            try characteristic.coding.encode(value), in: characteristic.key, of: application, to: central,
            confirmed: true)
    }

    /// Returns the centrals that are subscribed to a characteristic. Contains nil for those that the system does not
    /// tell apart.
    public func subscribers<Value>(of characteristic: Characteristic<Value>) async throws(BLEError) -> [DeviceID?] {
        try await host.subscribers(of: characteristic.key, application)
    }
}

extension PeripheralHost {
    private func attribute(_ key: CharacteristicKey, _ number: Int) throws(BLEError) -> ServedAttribute {
        try checkRunning()
        guard let definition = registrations.definition(number) else {
            throw BLEError(.serviceNotFound, "the definition is no longer served")
        }
        guard let attribute = definition.attributes(of: key, application: number).first else {
            throw BLEError(
                .characteristicNotFound, "the definition has no characteristic \(key.characteristic)",
                service: key.service, characteristic: key.characteristic, isRetryable: false)
        }
        return attribute
    }

    func storedValue(_ key: CharacteristicKey, of number: Int) throws(BLEError) -> [UInt8] {
        let attribute = try attribute(key, number)
        let characteristic = characteristic(attribute)
        return characteristic?.servedValue?.get() ?? values[attribute] ?? characteristic?.value ?? []
    }

    func store(_ value: [UInt8], in key: CharacteristicKey, of number: Int) async throws(BLEError) {
        try await store(value, in: try attribute(key, number))
    }

    func store(_ value: [UInt8], in attribute: ServedAttribute) async throws(BLEError) {
        try checkRunning()
        guard let characteristic = characteristic(attribute) else {
            throw BLEError(.serviceNotFound, "the definition is no longer served")
        }
        guard value.count <= Self.maximumLength else {
            throw BLEError(
                .invalidLength, "a value of \(value.count) bytes is too long",
                remedy: "An attribute has at most \(Self.maximumLength) bytes.", attribute: attribute, of: self)
        }
        if let served = characteristic.servedValue { return try served.set(value) }
        // What is refused is not stored.
        try checkLength(value, from: attribute, to: nil)
        try await send(value, from: attribute, to: nil, turn: keep(value, in: attribute))
    }

    func send(
        _ value: [UInt8], in key: CharacteristicKey, of number: Int, to central: DeviceID?, confirmed: Bool
    ) async throws(BLEError) {
        try await send(value, from: try attribute(key, number), to: central, confirmed: confirmed)
    }

    func subscribers(of key: CharacteristicKey, _ number: Int) throws(BLEError) -> [DeviceID?] {
        let attribute = try attribute(key, number)
        return subscriptions[attribute].keys.sorted { ($0?.rawValue ?? "") < ($1?.rawValue ?? "") }
    }
}
