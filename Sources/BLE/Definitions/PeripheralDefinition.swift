/// The definition of a peripheral: its advertisement, its services, and its behavior.
///
/// The simulated radio runs it in memory. A ``PeripheralHost`` serves it to real centrals.
public struct PeripheralDefinition: Sendable {
    /// The device address, such as `F0:F1:F2:F3:F4:F5`. Nil for an address chosen by the radio that runs the
    /// definition.
    public var address: String?
    /// The advertisement. The signal strength is the one that a central receives.
    public var advertisement: Advertisement
    /// The parameters with which a ``PeripheralHost`` advertises. Nil for the content of ``advertisement``, which a
    /// simulated radio always uses.
    public var advertising: AdvertisingParameters?
    /// The advertising interval on a simulated radio.
    public var advertisingInterval: Duration
    /// The services, in the order of their handles.
    public var services: [ServiceDefinition]
    /// The L2CAP channels that the peripheral accepts.
    public var channels: [ChannelDefinition]
    /// The maximum ATT MTU that the peripheral accepts, in bytes, 23 to 517. 247 by default, which fits in one packet
    /// of the link layer.
    public var maximumATTMTU: Int

    /// Creates the definition of a peripheral.
    public init(
        address: String? = nil, advertisement: Advertisement, advertising: AdvertisingParameters? = nil,
        advertisingInterval: Duration = .milliseconds(200),
        services: [ServiceDefinition], channels: [ChannelDefinition] = [], maximumATTMTU: Int = 247
    ) {
        self.maximumATTMTU = maximumATTMTU
        self.address = address
        self.advertisement = advertisement
        self.advertising = advertising
        self.advertisingInterval = advertisingInterval
        self.services = services
        self.channels = channels
    }
}

/// A service of a defined peripheral.
public struct ServiceDefinition: Sendable {
    /// The type.
    public var uuid: BluetoothUUID
    /// The handle of the service's declaration, from 1. The handles of its attributes follow. Nil for the system's
    /// choice: a ``PeripheralHost`` with BlueZ then has different handles after each restart of bluetoothd or the
    /// program, and a central that has stored them must discover the services again. With BlueZ, choose a handle above
    /// those that bluetoothd assigns, such as 0x1000.
    public var handle: UInt16?
    /// Whether it is a primary service. A secondary service exists only to be included.
    public var isPrimary: Bool
    /// The characteristics, in the order of their handles.
    public var characteristics: [CharacteristicDefinition]
    /// The types of the services that this service includes. If the peripheral has several of a type, the first is
    /// included. With BlueZ, an included service has lower handles than the service that includes it. Services that
    /// include each other cannot be served.
    public var includes: [BluetoothUUID]
    /// Called when the link of a central has ended, whether or not the central has used the service, to release the
    /// data that is stored for the central. The function begins on the system's thread, before a request of the
    /// central's next link is handled, and must not block.
    ///
    /// With BlueZ, also called for peripherals that this machine has connected to. Not called when serving ends while
    /// the link continues.
    public var onDisconnect: DisconnectionHandler?

    /// Receives the central whose link has ended.
    public typealias DisconnectionHandler = @Sendable (DeviceID) async -> Void

    /// Creates the definition of a service.
    public init(
        _ uuid: BluetoothUUID, handle: UInt16? = nil, isPrimary: Bool = true, includes: [BluetoothUUID] = [],
        characteristics: [CharacteristicDefinition], onDisconnect: DisconnectionHandler? = nil
    ) {
        self.uuid = uuid
        self.handle = handle
        self.isPrimary = isPrimary
        self.includes = includes
        self.characteristics = characteristics
        self.onDisconnect = onDisconnect
    }

    /// The number of handles of the service: for its declaration, for its included services, and for each
    /// characteristic its declaration, its value, the client characteristic configuration if it notifies or indicates,
    /// the extended properties if it has any, and its other descriptors.
    package var handleCount: Int {
        characteristics.reduce(1 + includes.count) { count, characteristic in
            let properties = characteristic.properties
            return count + 2 + (properties.isDisjoint(with: [.notify, .indicate]) ? 0 : 1)
                + (properties.isDisjoint(with: [.reliableWrite, .writableAuxiliaries]) ? 0 : 1)
                + characteristic.descriptors.count
        }
    }

    /// The handles of the service. Nil if it does not have a fixed handle.
    package var handles: ClosedRange<Int>? { handle.map { Int($0)...Int($0) + handleCount - 1 } }

    /// Calls ``onDisconnect`` for the end of a link, in a task of its own that begins at once, so that the call
    /// precedes later requests.
    package func tellOfDisconnection(of central: DeviceID) {
        guard let onDisconnect else { return }
        Task.immediate { await onDisconnect(central) }
    }
}

extension [ServiceDefinition] {
    /// The positions of the services in their order, except that included services precede the services that include
    /// them. Nil if services include each other.
    package var inclusionOrder: [Int]? {
        let positions = Dictionary(enumerated().map { ($1.uuid, $0) }) { first, _ in first }
        var order: [Int] = []
        // True for a service that is in the order, false while its included services are being visited.
        var isPlaced: [Int: Bool] = [:]
        // Not a recursive function: a definition may have thousands of services, each of which includes the next.
        for first in indices where isPlaced[first] == nil {
            var path = [(position: first, next: 0)]
            isPlaced[first] = false
            while let (position, next) = path.last {
                guard next < self[position].includes.count else {
                    isPlaced[position] = true
                    order.append(position)
                    path.removeLast()
                    continue
                }
                path[path.count - 1].next += 1
                guard let included = positions[self[position].includes[next]] else { continue }
                switch isPlaced[included] {
                case nil:
                    isPlaced[included] = false
                    path.append((included, 0))
                case false?: return nil
                case true?: break
                }
            }
        }
        return order
    }
}

/// A descriptor of a defined characteristic.
///
/// The client characteristic configuration and the extended properties are added automatically.
public struct DescriptorDefinition: Sendable {
    /// The type.
    public var uuid: BluetoothUUID
    /// The initial value.
    public var value: [UInt8]
    /// Answers reads instead of the stored value.
    public var onRead: CharacteristicDefinition.ReadHandler?
    /// Handles writes instead of the stored value.
    public var onWrite: CharacteristicDefinition.WriteHandler?
    /// Whether centrals can write the descriptor. If false, a ``PeripheralHost`` rejects writes.
    public var isWritable: Bool

    /// Creates the definition of a descriptor. The descriptor can be written if it has a handler for writes, or if
    /// `isWritable` is true.
    public init(
        _ uuid: BluetoothUUID, value: [UInt8] = [], isWritable: Bool = false,
        onRead: CharacteristicDefinition.ReadHandler? = nil, onWrite: CharacteristicDefinition.WriteHandler? = nil
    ) {
        self.uuid = uuid
        self.value = value
        self.isWritable = isWritable || onWrite != nil
        self.onRead = onRead
        self.onWrite = onWrite
    }

    /// Creates the definition of a descriptor with a typed value. Throws `invalidValue` if the value cannot be encoded.
    public init(_ uuid: BluetoothUUID, value: some ValueCodable) throws(BLEError) {
        self.init(uuid, value: try value.encoded())
    }

    /// The user-readable name of the characteristic (Characteristic User Description, 0x2901).
    public static func userDescription(_ text: String) -> DescriptorDefinition {
        DescriptorDefinition(BluetoothUUID(0x2901), value: Array(text.utf8))
    }

    /// The presentation format of the characteristic's value (Characteristic Presentation Format, 0x2904).
    public static func presentationFormat(_ format: PresentationFormat) -> DescriptorDefinition {
        DescriptorDefinition(BluetoothUUID(0x2904), value: format.bytes)
    }
}

/// A characteristic of a defined peripheral.
///
/// Without handlers, the characteristic stores a value: the last written value is read and notified. A handler replaces
/// the stored value. Handlers may take time, and are cancelled when the link ends. For a write at an offset, the
/// handler receives the complete new value: the current value, as read, with the written part replaced.
public struct CharacteristicDefinition: Sendable {
    /// Answers a read with the whole value, or rejects it. A closure that throws must declare the error:
    /// `{ (request) throws(ATTError) in … }`.
    public typealias ReadHandler = @Sendable (AttributeRequest) async throws(ATTError) -> [UInt8]
    /// Accepts a write of the whole value, or rejects it. A closure that throws must declare the error:
    /// `{ (value, request) throws(ATTError) in … }`.
    public typealias WriteHandler = @Sendable ([UInt8], AttributeRequest) async throws(ATTError) -> Void
    /// Returns if a central may read or write the value, or throws the error that rejects the request, usually
    /// ``ATTError/insufficientAuthorization``.
    public typealias AuthorizationHandler =
        @Sendable (AttributeAccess, AttributeRequest) async throws(ATTError) -> Void
    /// Runs from subscription to unsubscription, when it is cancelled, and sends values to the subscriber through the
    /// notifier. The handler begins on the system's thread, before the central's next request, and must not block
    /// before it first waits or sends a value.
    ///
    /// Any error except a cancellation ends the subscription: the subscriber receives no more values of its own, the
    /// link stays, and a ``PeripheralHost`` reports a `failed` event. If the system does not distinguish subscribers,
    /// the handler runs for all of them, and only the handler ends: the subscribers still receive values that are sent
    /// to all, and the handler runs again for the next subscriber. If the error is thrown before the handler first
    /// waits or sends a value, a system that has not accepted the subscription yet rejects it with the error. The
    /// simulated radio does this, with ``ATTError/unlikelyError`` for errors that are not an ``ATTError``; BlueZ has
    /// already accepted the subscription.
    public typealias SubscriptionHandler = @Sendable (Notifier) async throws -> Void

    /// The type.
    public var uuid: BluetoothUUID
    /// The operations that the characteristic allows.
    public var properties: CharacteristicProperties
    /// The security of the link that is required to read, write or subscribe.
    public var security: AttributeSecurity
    /// The initial value.
    public var value: [UInt8]
    /// Additional descriptors.
    public var descriptors: [DescriptorDefinition]
    /// Authorizes each read and write of the value before it is performed, and with BlueZ also before a central
    /// prepares a long write. All are allowed by default. Not called for subscriptions.
    public var authorize: AuthorizationHandler?
    /// Answers reads instead of the stored value.
    public var onRead: ReadHandler?
    /// Handles writes instead of the stored value.
    public var onWrite: WriteHandler?
    /// Runs while a central is subscribed.
    public var onSubscribe: SubscriptionHandler?

    /// The value, if it is not the host that stores it.
    package var servedValue: StoredElsewhere?

    /// Creates the definition of a characteristic.
    public init(
        _ uuid: BluetoothUUID, _ properties: CharacteristicProperties, security: AttributeSecurity = .open,
        value: [UInt8] = [], descriptors: [DescriptorDefinition] = [], authorize: AuthorizationHandler? = nil,
        onRead: ReadHandler? = nil, onWrite: WriteHandler? = nil,
        onSubscribe: SubscriptionHandler? = nil
    ) {
        self.uuid = uuid
        self.properties = properties
        self.security = security
        self.value = value
        self.descriptors = descriptors
        self.authorize = authorize
        self.onRead = onRead
        self.onWrite = onWrite
        self.onSubscribe = onSubscribe
    }
}

/// A value that the definition itself stores and sends to its subscribers.
package struct StoredElsewhere: Sendable {
    /// Returns the value.
    package let get: @Sendable () -> [UInt8]
    /// Stores and sends a value. Throws `invalidValue` if it is not one.
    package let set: @Sendable ([UInt8]) throws(BLEError) -> Void
}

/// Sends a defined peripheral's values to one subscribed central, or to all subscribers if the system does not
/// distinguish them.
public struct Notifier: Sendable {
    /// The clock of the radio that runs the peripheral.
    public let clock: any Clock<Duration>
    /// The central that is subscribed. Nil if the notifier sends to all subscribers.
    public let central: DeviceID?
    private let send: @Sendable ([UInt8]) async -> Void
    private let sendConfirmed: (@Sendable ([UInt8]) async throws(BLEError) -> Void)?

    /// Creates a notifier. Called by the radio or the host that runs the definition.
    ///
    /// - Parameters:
    ///   - send: sends a value.
    ///   - indicate: sends a value, and returns when it is confirmed. Nil if indications are not supported.
    public init(
        clock: any Clock<Duration>, central: DeviceID? = nil, send: @escaping @Sendable ([UInt8]) async -> Void,
        indicate: (@Sendable ([UInt8]) async throws(BLEError) -> Void)? = nil
    ) {
        self.clock = clock
        self.central = central
        self.send = send
        sendConfirmed = indicate
    }

    /// Sends a value. Does nothing if the subscription has ended.
    public func notify(_ value: [UInt8]) async {
        await send(value)
    }

    /// Sends a value as an indication, and returns when the central has confirmed it. If the system does not
    /// distinguish the subscribers, returns at the first confirmation.
    ///
    /// Throws `notSupported` if the characteristic does not have ``CharacteristicProperties/indicate``, `timedOut`
    /// without a confirmation, and `disconnected` if the subscription has ended.
    public func indicate(_ value: [UInt8]) async throws(BLEError) {
        guard let sendConfirmed else { throw .lacking("indications") }
        try await sendConfirmed(value)
    }
}
