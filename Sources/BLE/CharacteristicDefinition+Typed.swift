extension CharacteristicDefinition {
    /// A characteristic with a typed value. Throws `invalidValue` for one that its bytes cannot spell.
    public init<Value>(
        _ characteristic: Characteristic<Value>, _ properties: CharacteristicProperties,
        security: AttributeSecurity = .open, value: Value, descriptors: [DescriptorDefinition] = []
    ) throws(BLEError) {
        self.init(
            characteristic.key.characteristic, properties, security: security,
            value: try characteristic.coding.encode(value), descriptors: descriptors)
    }

    /// A characteristic whose values are sent while somebody is subscribed: `values` runs from subscription to unsubscription, when
    /// it is cancelled, with a function that sends one.
    public init<Value>(
        _ characteristic: Characteristic<Value>, _ properties: CharacteristicProperties = .notify,
        security: AttributeSecurity = .open,
        sending values:
            @escaping @Sendable (
                _ notifier: Notifier, _ send: @Sendable (Value) async throws -> Void
            ) async throws -> Void
    ) {
        self.init(
            characteristic.key.characteristic, properties, security: security,
            onSubscribe: { notifier in
                try await values(notifier) { await notifier.notify(try characteristic.coding.encode($0)) }
            })
    }
}
