internal import Synchronization

/// A value that a program sets from anywhere, and that centrals read, subscribe to and write.
///
/// ```swift
/// let level = try ServedValue(.batteryLevel, 90)
/// let definition = PeripheralDefinition(
///     advertisement: Advertisement(localName: "Lamp"),
///     services: [ServiceDefinition(.battery, characteristics: [level.definition()])])
/// try await host.serve(definition)  // elsewhere: try level.set(80)
/// ```
///
/// It is the same whether a ``PeripheralHost`` serves the definition or a simulated radio runs it. Served at several
/// places, it is one value, which ``ServedPeripheral/setValue(_:of:)`` sets everywhere, too.
public final class ServedValue<Value: Sendable>: Sendable {
    /// The characteristic.
    public let characteristic: Characteristic<Value>

    private struct State {
        var value: Value
        var bytes: [UInt8]
        var readers = Observers<Value>()
        var subscribers = Observers<[UInt8]>()
    }

    private let state: Mutex<State>

    /// Creates a value. Throws `invalidValue` if it cannot be encoded, and `invalidLength` for more than 512 bytes.
    public init(_ characteristic: Characteristic<Value>, _ value: Value) throws(BLEError) {
        self.characteristic = characteristic
        state = Mutex(State(value: value, bytes: try Self.encode(value, characteristic)))
    }

    private static func encode(_ value: Value, _ characteristic: Characteristic<Value>) throws(BLEError) -> [UInt8] {
        let bytes = try characteristic.coding.encode(value)
        guard bytes.count <= PeripheralHost.maximumLength else {
            throw BLEError(
                .invalidLength, "a value of \(bytes.count) bytes is too long", isRetryable: false,
                remedy: "An attribute has at most \(PeripheralHost.maximumLength) bytes.")
        }
        return bytes
    }

    deinit {
        var (readers, subscribers) = state.withLock { ($0.readers, $0.subscribers) }
        readers.finish()
        subscribers.finish()
    }

    /// The value that was last set or written.
    public var value: Value { state.withLock { $0.value } }

    /// Sets the value, and sends it to all subscribers. Throws the errors of ``init(_:_:)``; then nothing has changed.
    ///
    /// A slow subscriber misses values, but not the last one; up to 128 wait for it. One that does not fit a packet of
    /// a subscriber's link is not sent to it.
    public func set(_ value: Value) throws(BLEError) {
        let bytes = try Self.encode(value, characteristic)
        state.withLock { state in
            (state.value, state.bytes) = (value, bytes)
            // Under the lock, so that all get the values in one order.
            state.readers.yield(value)
            state.subscribers.yield(bytes)
        }
    }

    /// Returns the value, and then each that is set or written. A slow reader misses values, but not the last one; up
    /// to 128 wait for it. The stream ends with this object.
    public func changes() -> BoundedStream<Value> {
        state.withLock { state in
            state.readers.add(capacity: 64, first: state.value) { [weak self] token in
                self?.state.withLock { $0.readers.remove(token) }
            }
        }
    }

    private func sent() -> BoundedStream<[UInt8]> {
        state.withLock { state in
            state.subscribers.add(capacity: 64) { [weak self] token in
                self?.state.withLock { $0.subscribers.remove(token) }
            }
        }
    }

    /// Returns the definition of its characteristic.
    ///
    /// - Parameters:
    ///   - properties: what centrals may do. What they write is sent to the subscribers, too.
    ///   - onWrite: takes or rejects a written value before it is set, as a handler of
    ///     ``CharacteristicDefinition/init(_:_:security:descriptors:authorize:onWrite:)`` does. By default, each is
    ///     taken.
    public func definition(
        _ properties: CharacteristicProperties = [.read, .notify], security: AttributeSecurity = .open,
        descriptors: [DescriptorDefinition] = [],
        onWrite: @escaping @Sendable (_ value: Value, _ request: AttributeRequest) async throws -> Void = { _, _ in }
    ) -> CharacteristicDefinition {
        definition(properties, security: security, descriptors: descriptors) { value, request in
            try await onWrite(value, request)
            return value
        }
    }

    /// Returns the definition of its characteristic.
    ///
    /// - Parameter stored: returns what to set for a written value, or rejects that.
    package func definition(
        _ properties: CharacteristicProperties, security: AttributeSecurity, descriptors: [DescriptorDefinition],
        stored: @escaping @Sendable (_ value: Value, _ request: AttributeRequest) async throws -> Value
    ) -> CharacteristicDefinition {
        let canWrite = !properties.isDisjoint(with: [.write, .writeWithoutResponse, .reliableWrite])
        let canSubscribe = !properties.isDisjoint(with: [.notify, .indicate])
        let write: @Sendable (Value, AttributeRequest) async throws -> Void = { value, request in
            let value = try await stored(value, request)
            // What was rejected meanwhile, because it took too long or the link has ended, has no effect.
            try Task.checkCancellation()
            try self.set(value)
        }
        let subscription: CharacteristicDefinition.SubscriptionHandler = { notifier in
            for try await bytes in self.sent() { await notifier.notify(bytes) }
        }
        let bytes: @Sendable () -> [UInt8] = { self.state.withLock { $0.bytes } }
        var definition = CharacteristicDefinition(
            characteristic.uuid, properties, security: security, value: bytes(), descriptors: descriptors,
            onRead: { (_) throws(ATTError) in bytes() },
            onWrite: canWrite ? CharacteristicDefinition.handler(write, characteristic.coding) : nil,
            onSubscribe: canSubscribe ? subscription : nil)
        definition.servedValue = StoredElsewhere(
            get: bytes,
            set: { (bytes) throws(BLEError) in try self.set(try self.characteristic.coding.decode(bytes)) })
        return definition
    }
}
