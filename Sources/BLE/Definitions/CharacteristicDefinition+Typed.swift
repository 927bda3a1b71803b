internal import Synchronization

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

    /// A control point: what is written to it is a request, and what `answer` makes of it is indicated to who has written it.
    ///
    /// It refuses requests with ``ATTError/improperlyConfigured`` while nobody is subscribed, as specifications ask for, and what
    /// `answer` throws. Nil is no answer.
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
                // Until it is cancelled.
                try await Outcome<Void>().wait()
            })
    }
}

extension Notifier {
    /// Sends a typed value. Throws `invalidValue` for one that its bytes cannot spell.
    public func notify(_ value: some ValueCodable) async throws(BLEError) {
        await notify(try value.encoded())
    }
}

/// Who is told what a control point answers.
private final class Subscriber: Sendable {
    private let state = Mutex<(notifier: Notifier?, number: Int)>((nil, 0))

    var notifier: Notifier? { state.withLock { $0.notifier } }

    /// A subscription has begun. Returns its number.
    func begin(_ notifier: Notifier) -> Int {
        state.withLock { state in
            state = (notifier, state.number + 1)
            return state.number
        }
    }

    /// A subscription has ended; the next may have begun already.
    func end(_ number: Int) {
        state.withLock { if $0.number == number { $0.notifier = nil } }
    }
}
