internal import Synchronization

/// Characteristics whose handlers have typed values.
///
/// A handler rejects a request by throwing an ``ATTError``; any other error rejects it with
/// ``ATTError/unlikelyError``. A written value that cannot be decoded is rejected with ``ATTError/valueNotAllowed``,
/// and the handler does not see it.
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

    /// Creates a characteristic that sends typed values to its subscriber, and can be read: a read returns the value
    /// that was sent last, to any subscriber of any place, and `value` before. Otherwise like
    /// ``init(_:_:security:sending:)``.
    ///
    /// Throws `invalidValue` if the value cannot be encoded.
    public init<Value>(
        _ characteristic: Characteristic<Value>, _ properties: CharacteristicProperties = [.read, .notify],
        security: AttributeSecurity = .open, value: Value,
        sending values:
            @escaping @Sendable (
                _ notifier: Notifier, _ send: @Sendable (Value) async throws -> Void
            ) async throws -> Void
    ) throws(BLEError) {
        let initial = try characteristic.coding.encode(value)
        let last = LastValue(initial)
        self.init(
            characteristic.key.characteristic, properties, security: security, value: initial,
            onRead: { _ in last.bytes.withLock { $0 } },
            onSubscribe: { notifier in
                try await values(notifier) { value in
                    let bytes = try characteristic.coding.encode(value)
                    try Task.checkCancellation()
                    if bytes.count <= PeripheralHost.maximumLength { last.bytes.withLock { $0 = bytes } }
                    await notifier.notify(bytes)
                }
            })
    }

    /// Creates a characteristic whose typed value is read from a handler.
    ///
    /// ```swift
    /// actor Lamp {
    ///     var level: UInt8 = 50
    ///     func dim(to level: UInt8) { self.level = level }
    /// }
    /// let lamp = Lamp()
    /// let level = Characteristic<UInt8>(BluetoothUUID(0xFF01))
    /// let definition = CharacteristicDefinition(level, [.read, .write]) { _ in
    ///     await lamp.level
    /// } onWrite: { level, request in
    ///     guard level <= 100 else { throw ATTError.outOfRange }
    ///     await lamp.dim(to: level)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - onRead: returns the value for a request.
    ///   - onWrite: takes a written value, or rejects it. Nil if the properties contain no writing.
    public init<Value>(
        _ characteristic: Characteristic<Value>, _ properties: CharacteristicProperties = .read,
        security: AttributeSecurity = .open, descriptors: [DescriptorDefinition] = [],
        authorize: AuthorizationHandler? = nil,
        onRead: @escaping @Sendable (_ request: AttributeRequest) async throws -> Value,
        onWrite: (@Sendable (_ value: Value, _ request: AttributeRequest) async throws -> Void)? = nil
    ) {
        self.init(
            characteristic.key.characteristic, properties, security: security, descriptors: descriptors,
            authorize: authorize,
            onRead: { (request) throws(ATTError) in
                try await ATTError.rejecting { try characteristic.coding.encode(try await onRead(request)) }
            }, onWrite: onWrite.map { Self.handler($0, characteristic.coding) })
    }

    /// Creates a characteristic that takes written values.
    ///
    /// - Parameter onWrite: takes a written value, or rejects it.
    public init<Value>(
        _ characteristic: Characteristic<Value>, _ properties: CharacteristicProperties = .write,
        security: AttributeSecurity = .open, descriptors: [DescriptorDefinition] = [],
        authorize: AuthorizationHandler? = nil,
        onWrite: @escaping @Sendable (_ value: Value, _ request: AttributeRequest) async throws -> Void
    ) {
        self.init(
            characteristic.key.characteristic, properties, security: security, descriptors: descriptors,
            authorize: authorize, onWrite: Self.handler(onWrite, characteristic.coding))
    }

    /// Returns the handler of bytes that a handler of values is.
    static func handler<Value>(
        _ onWrite: @escaping @Sendable (Value, AttributeRequest) async throws -> Void, _ coding: ValueCoding<Value>
    ) -> WriteHandler {
        { (bytes, request) throws(ATTError) in
            guard let value = try? coding.decode(bytes) else { throw .valueNotAllowed }
            try await ATTError.rejecting { try await onWrite(value, request) }
        }
    }
}

/// The value that was sent last.
private final class LastValue: Sendable {
    let bytes: Mutex<[UInt8]>

    init(_ bytes: [UInt8]) { self.bytes = Mutex(bytes) }
}

extension ATTError {
    /// Runs what a handler does. Its errors become those of a response.
    static func rejecting<Value>(_ body: () async throws -> Value) async throws(ATTError) -> Value {
        do {
            return try await body()
        } catch {
            throw error as? ATTError ?? .unlikelyError
        }
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
