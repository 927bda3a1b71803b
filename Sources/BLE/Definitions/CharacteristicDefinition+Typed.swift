internal import Synchronization
internal import Waiting

extension CharacteristicDefinition {
    /// Creates a characteristic with a typed value. Throws `invalidValue` if the value cannot be encoded.
    public init<Value>(
        _ characteristic: Characteristic<Value>, _ properties: CharacteristicProperties,
        security: AttributeSecurity = .open, value: Value, descriptors: [DescriptorDefinition] = []
    ) throws(BLEError) {
        self.init(
            characteristic.key.characteristic, properties, security: security,
            value: try characteristic.coding.encode(value), descriptors: descriptors)
    }

    /// Creates a characteristic that sends typed values to its subscriber.
    ///
    /// `values` runs from subscription to unsubscription, when it is cancelled. It receives a function that sends one
    /// value.
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

    /// Creates a control point, which indicates the result of `answer` for each request that is written to it.
    ///
    /// Requests are rejected with ``ATTError/improperlyConfigured`` while no central is subscribed, as specifications
    /// require, and with the error that `answer` throws. If `answer` returns nil, nothing is indicated. A central that
    /// has not confirmed a result receives the next one after it has. If that takes longer than a request may, its
    /// request is rejected, although `answer` has run.
    public static func controlPoint(
        _ characteristic: BluetoothUUID, security: AttributeSecurity = .open,
        answer: @escaping @Sendable (_ request: [UInt8]) async throws(ATTError) -> [UInt8]?
    ) -> CharacteristicDefinition {
        controlPoint(characteristic, security: security) { (value, _) throws(ATTError) in try await answer(value) }
    }

    /// Creates a control point whose answer depends on the request's central. Otherwise like
    /// ``controlPoint(_:security:answer:)``.
    ///
    /// - Parameter answering: receives the written value, and the request.
    public static func controlPoint(
        _ characteristic: BluetoothUUID, security: AttributeSecurity = .open,
        answering answer:
            @escaping @Sendable (_ value: [UInt8], _ request: AttributeRequest) async throws(ATTError) -> [UInt8]?
    ) -> CharacteristicDefinition {
        let notifiers = Notifiers()
        return CharacteristicDefinition(
            characteristic, [.write, .indicate], security: security,
            onWrite: { (value, request) throws(ATTError) in
                guard let notifier = notifiers.find(request.central) else { throw .improperlyConfigured }
                if let bytes = try await answer(value, request) { await notifier.notify(bytes) }
            },
            onSubscribe: { notifier in
                let number = notifiers.add(notifier)
                defer { notifiers.remove(notifier.central, number) }
                // Waits until the task is cancelled.
                try await Outcome<Void>().wait()
            })
    }
}

extension Notifier {
    /// Sends a typed value. Throws `invalidValue` if the value cannot be encoded.
    public func notify(_ value: some ValueCodable) async throws(BLEError) {
        await notify(try value.encoded())
    }

    /// Indicates a typed value. Throws `invalidValue` if the value cannot be encoded, and the errors of indicating
    /// bytes.
    public func indicate(_ value: some ValueCodable) async throws(BLEError) {
        try await indicate(try value.encoded())
    }
}

/// The subscribers of a control point.
private final class Notifiers: Sendable {
    private struct State {
        /// The notifiers, by central. Nil for centrals that the system does not distinguish.
        var notifiers: [DeviceID?: (notifier: Notifier, number: Int)] = [:]
        var last = 0
    }

    private let state = Mutex(State())

    /// Returns the notifier for a central.
    func find(_ central: DeviceID) -> Notifier? {
        state.withLock { ($0.notifiers[central] ?? $0.notifiers[.none])?.notifier }
    }

    /// Adds a subscription and returns its number.
    func add(_ notifier: Notifier) -> Int {
        state.withLock { state in
            state.last += 1
            state.notifiers[notifier.central] = (notifier, state.last)
            return state.last
        }
    }

    /// Removes a subscription, unless the central's next one has already replaced it.
    func remove(_ central: DeviceID?, _ number: Int) {
        state.withLock { if $0.notifiers[central]?.number == number { $0.notifiers[central] = nil } }
    }
}
