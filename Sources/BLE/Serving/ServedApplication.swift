internal import Synchronization

/// Whether a subscription lasts, for those who send its values from other threads.
final class SubscriptionState: Sendable {
    private let state = Atomic(true)

    private let hasSent = Atomic(false)
    private let isRefused = Atomic(false)
    private let error = Mutex<(any Error)?>(nil)

    var isOpen: Bool { state.load(ordering: .acquiring) }
    /// Whether this is the first value that is sent.
    func isFirst() -> Bool { !hasSent.exchange(true, ordering: .relaxed) }
    /// Whether this is the first value that the stack cannot send to this subscriber.
    func isFirstRefusal() -> Bool { !isRefused.exchange(true, ordering: .relaxed) }
    func end() { state.store(false, ordering: .releasing) }
    /// What the subscription's handler has thrown.
    var failure: (any Error)? { error.withLock { $0 } }
    func fail(_ error: any Error) { self.error.withLock { $0 = error } }
}

/// What a host knows of a definition that it serves: its values, the reads that go on, and its subscriptions.
struct ServedApplication {
    /// A subscription of one central, or of all centrals if the stack does not tell them apart.
    struct Subscription {
        let number: Int
        let attMTU: Int?
        /// Runs the definition's handler.
        var task: Task<Void, Never>?
        /// Whether the handler has returned.
        var hasEnded = false
        /// Whether its values are still sent.
        let state = SubscriptionState()

        /// Cancels the handler, and drops what it sends.
        func end() {
            task?.cancel()
            state.end()
        }
    }

    let definition: PeripheralDefinition
    /// Whether the stack serves the services now.
    private(set) var isRegistered = false
    /// Whether it has been served before, so that it is served again after a loss.
    private(set) var hasBegun = false
    private var values: [ServedAttribute: [UInt8]] = [:]
    /// The values that centrals are reading in parts.
    private var snapshots: [ServedAttribute: [Peripheral.ID: [UInt8]]] = [:]
    private var subscriptions: [ServedAttribute: [Peripheral.ID?: Subscription]] = [:]

    init(_ definition: PeripheralDefinition) {
        self.definition = definition
    }

    mutating func setRegistered(_ isRegistered: Bool) {
        self.isRegistered = isRegistered
        if isRegistered { hasBegun = true }
    }

    // MARK: Attributes

    func characteristic(_ attribute: ServedAttribute) -> CharacteristicDefinition? {
        guard definition.services.indices.contains(attribute.service) else { return nil }
        let characteristics = definition.services[attribute.service].characteristics
        guard characteristics.indices.contains(attribute.characteristic) else { return nil }
        return characteristics[attribute.characteristic]
    }

    /// Returns what answers reads of an attribute instead of its stored value.
    func reader(of attribute: ServedAttribute) -> CharacteristicDefinition.ReadHandler? {
        guard let characteristic = characteristic(attribute) else { return nil }
        guard let descriptor = attribute.descriptor else { return characteristic.onRead }
        return characteristic.descriptors.indices.contains(descriptor)
            ? characteristic.descriptors[descriptor].onRead : nil
    }

    /// Returns what handles writes of an attribute instead of its stored value.
    func writer(of attribute: ServedAttribute) -> CharacteristicDefinition.WriteHandler? {
        guard let characteristic = characteristic(attribute) else { return nil }
        guard let descriptor = attribute.descriptor else { return characteristic.onWrite }
        return characteristic.descriptors.indices.contains(descriptor)
            ? characteristic.descriptors[descriptor].onWrite : nil
    }

    /// Returns the places of the characteristics with a key, in order.
    func attributes(of key: CharacteristicKey, application: Int) -> [ServedAttribute] {
        definition.services.indices.flatMap { service -> [ServedAttribute] in
            guard key.service == nil || key.service == definition.services[service].uuid else { return [] }
            let characteristics = definition.services[service].characteristics
            return characteristics.indices.filter { characteristics[$0].uuid == key.characteristic }.map {
                ServedAttribute(application: application, service: service, characteristic: $0)
            }
        }
    }

    // MARK: Values

    /// Returns the stored value. Nil if there is no such attribute.
    func value(of attribute: ServedAttribute) -> [UInt8]? {
        guard let characteristic = characteristic(attribute) else { return nil }
        if let value = values[attribute] { return value }
        guard let descriptor = attribute.descriptor else { return characteristic.value }
        guard characteristic.descriptors.indices.contains(descriptor) else { return nil }
        return characteristic.descriptors[descriptor].value
    }

    /// Stores a value. A central that reads in parts receives the rest of the one that it has begun with.
    mutating func setValue(_ value: [UInt8], of attribute: ServedAttribute) { values[attribute] = value }

    /// The bytes that fit the shortest response to a read: an ATT MTU of 23, without the opcode. What fits it is not
    /// continued.
    private static let shortestPart = 22

    /// Keeps a value for the rest of a read in parts, in place of an earlier one.
    mutating func beginReading(_ value: [UInt8], of attribute: ServedAttribute, by central: Peripheral.ID) {
        snapshots[attribute, default: [:]][central] = value.count < Self.shortestPart ? nil : value
    }

    /// Whether a central is reading a value in parts, and is asked about.
    func isReading(_ attribute: ServedAttribute, by central: Peripheral.ID) -> Bool {
        attribute.descriptor == nil && snapshots[attribute]?[central] != nil
            && characteristic(attribute)?.authorize != nil
    }

    /// Returns the rest of the value that a central is reading in parts. Nil if it is not reading one. A short rest is
    /// the last part.
    mutating func continueReading(
        _ attribute: ServedAttribute, by central: Peripheral.ID, from offset: Int
    ) -> [UInt8]? {
        guard let value = snapshots[attribute]?[central], offset <= value.count else { return nil }
        if value.count - offset < Self.shortestPart { snapshots[attribute]?[central] = nil }
        return Array(value.dropFirst(offset))
    }

    /// Forgets the value that a central is reading, which it is about to change itself.
    mutating func endReading(_ attribute: ServedAttribute, by central: Peripheral.ID) {
        snapshots[attribute]?[central] = nil
    }

    // MARK: Subscriptions

    func subscription(_ attribute: ServedAttribute, _ central: Peripheral.ID?) -> Subscription? {
        subscriptions[attribute]?[central]
    }

    /// Adds a subscription. Returns the one that it replaces.
    mutating func subscribe(
        _ attribute: ServedAttribute, _ central: Peripheral.ID?, _ subscription: Subscription
    ) -> Subscription? {
        subscriptions[attribute, default: [:]].updateValue(subscription, forKey: central)
    }

    /// Sets the task of a subscription, unless the subscription has ended. Returns whether it has been set.
    mutating func setTask(
        _ task: Task<Void, Never>, of attribute: ServedAttribute, _ central: Peripheral.ID?, number: Int
    ) -> Bool {
        guard subscriptions[attribute]?[central]?.number == number else { return false }
        subscriptions[attribute]?[central]?.task = task
        return true
    }

    mutating func handlerEnded(_ attribute: ServedAttribute, _ central: Peripheral.ID?, number: Int) {
        guard subscriptions[attribute]?[central]?.number == number else { return }
        subscriptions[attribute]?[central]?.hasEnded = true
    }

    mutating func unsubscribe(_ attribute: ServedAttribute, _ central: Peripheral.ID?) -> Subscription? {
        let ended = subscriptions[attribute]?.removeValue(forKey: central)
        if subscriptions[attribute]?.isEmpty == true { subscriptions[attribute] = nil }
        return ended
    }

    /// The subscriptions of a characteristic.
    func subscribers(of attribute: ServedAttribute) -> [Peripheral.ID?: Subscription] {
        subscriptions[attribute] ?? [:]
    }

    /// Ends everything that belongs to a central. Returns its subscriptions.
    mutating func remove(_ central: Peripheral.ID) -> [ServedAttribute] {
        for attribute in snapshots.keys { snapshots[attribute]?[central] = nil }
        return subscriptions.filter { $0.value[central] != nil }.map(\.key)
    }

    /// The subscriptions of centrals that the stack tells apart.
    var subscriptionsOfCentrals: [(attribute: ServedAttribute, central: Peripheral.ID?)] {
        allSubscriptions.filter { $0.central != nil }
    }

    /// All subscriptions.
    var allSubscriptions: [(attribute: ServedAttribute, central: Peripheral.ID?)] {
        subscriptions.flatMap { attribute, centrals in centrals.keys.map { (attribute, $0) } }
    }

    mutating func forgetReaders() { snapshots = [:] }
}
