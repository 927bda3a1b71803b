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
    /// require, and with the error that `answer` throws. If `answer` returns nil, nothing is indicated.
    public static func controlPoint(
        _ characteristic: BluetoothUUID, security: AttributeSecurity = .open,
        answer: @escaping @Sendable (_ request: [UInt8]) async throws(ATTError) -> [UInt8]?
    ) -> CharacteristicDefinition {
        let subscriber = Subscriber()
        return CharacteristicDefinition(
            characteristic, [.write, .indicate], security: security,
            onWrite: { (request, _) throws(ATTError) in
                guard let notifier = subscriber.notifier else { throw .improperlyConfigured }
                if let bytes = try await answer(request) { await notifier.notify(bytes) }
            },
            onSubscribe: { notifier in
                let number = subscriber.begin(notifier)
                defer { subscriber.end(number) }
                // Waits until it is cancelled.
                try await Outcome<Void>().wait()
            })
    }
}

extension Notifier {
    /// Sends a typed value. Throws `invalidValue` if the value cannot be encoded.
    public func notify(_ value: some ValueCodable) async throws(BLEError) {
        await notify(try value.encoded())
    }
}

/// The central that receives a control point's answers.
private final class Subscriber: Sendable {
    private let state = Mutex<(notifier: Notifier?, number: Int)>((nil, 0))

    var notifier: Notifier? { state.withLock { $0.notifier } }

    /// Starts a subscription and returns its number.
    func begin(_ notifier: Notifier) -> Int {
        state.withLock { state in
            state = (notifier, state.number + 1)
            return state.number
        }
    }

    /// Ends a subscription, unless the next one has already replaced it.
    func end(_ number: Int) {
        state.withLock { if $0.number == number { $0.notifier = nil } }
    }
}
