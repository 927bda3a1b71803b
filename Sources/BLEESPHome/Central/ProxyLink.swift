internal import BLE
internal import Waiting

/// An attribute on a peripheral, as the proxy names it.
package struct AttributeOfProxy: Hashable, Sendable {
    package let address: UInt64
    package let handle: UInt32

    package init(address: UInt64, handle: UInt32) { (self.address, self.handle) = (address, handle) }
}

/// A link that a proxy has made, is making, or is ending.
struct ProxyLink {
    enum State {
        case connecting(Outcome<Void>)
        case connected(mtu: Int)
        /// Ended, or asked to end: the proxy may still hold its slot, until the time is over that it has. The outcomes
        /// are those of callers that wait.
        case ending([Outcome<Void>], Expiry)
    }

    var state: State
    /// The services that have arrived so far.
    private var discovered: [ProxyService] = []
    private var attributeCount = 0
    /// The discovery that is under way.
    var discovery: Outcome<GATTDatabase>?
    /// The proxy's names of the attributes, set when services are discovered.
    private(set) var handles: [UInt16: UInt32] = [:]
    private(set) var configurations: [UInt16: (handle: UInt32, value: [UInt8])] = [:]
    private(set) var services: Set<BluetoothUUID> = []

    var isUp: Bool { if case .connected = state { true } else { false } }
    var isConnecting: Bool { if case .connecting = state { true } else { false } }

    var mtu: Int? { if case .connected(let mtu) = state { mtu } else { nil } }

    init(state: State) { self.state = state }

    mutating func beginDiscovery(_ outcome: Outcome<GATTDatabase>) {
        (discovered, attributeCount, discovery) = ([], 0, outcome)
    }

    /// Adds services that have arrived. Returns false, and forgets them, if they are more than there are handles.
    mutating func append(_ services: [ProxyService]) -> Bool {
        for service in services {
            attributeCount += 1 + service.characteristics.reduce(0) { $0 + 1 + $1.descriptors.count }
        }
        guard attributeCount <= UInt16.max else {
            discovered = []
            return false
        }
        discovered += services
        return true
    }

    func fail(_ error: BLEError) {
        discovery?.deliver(.failure(error))
        switch state {
        case .connecting(let outcome): outcome.deliver(.failure(error))
        case .connected: break
        case .ending(let outcomes, let expiry):
            expiry.cancel()
            for outcome in outcomes { outcome.deliver(.success(())) }
        }
    }

    /// Makes a database of the services that have arrived.
    ///
    /// A proxy names a characteristic by the handle of its value, and this package by that of its declaration, which
    /// precedes it. If another attribute has that handle, the proxy's numbers are of its own making, and are used as
    /// they are.
    mutating func makeDatabase() -> GATTDatabase {
        let taken = Set(
            discovered.flatMap { service in
                [service.handle]
                    + service.characteristics.flatMap { [$0.handle] + $0.descriptors.map(\.handle) }
            })
        (handles, configurations, services) = ([:], [:], Set(discovered.map(\.uuid)))
        var result: [GATTService] = []
        for service in discovered {
            var characteristics: [GATTCharacteristic] = []
            for characteristic in service.characteristics {
                let isFree = characteristic.handle > 0 && !taken.contains(characteristic.handle - 1)
                let number = isFree ? characteristic.handle - 1 : characteristic.handle
                guard let handle = UInt16(exactly: number) else { continue }
                let properties = CharacteristicProperties(
                    rawValue: UInt16(truncatingIfNeeded: characteristic.properties))
                handles[handle] = characteristic.handle
                let descriptors = characteristic.descriptors.compactMap { descriptor in
                    UInt16(exactly: descriptor.handle).map { GATTDescriptor(uuid: descriptor.uuid, handle: $0) }
                }
                for descriptor in descriptors {
                    handles[descriptor.handle] = UInt32(descriptor.handle)
                    guard descriptor.uuid == BluetoothUUID(0x2902) else { continue }
                    let value: [UInt8] = properties.contains(.notify) ? [1, 0] : [2, 0]
                    configurations[handle] = (UInt32(descriptor.handle), value)
                }
                characteristics.append(
                    GATTCharacteristic(
                        uuid: characteristic.uuid, handle: handle, properties: properties,
                        descriptors: descriptors.sorted { $0.handle < $1.handle }))
            }
            guard let handle = UInt16(exactly: service.handle) else { continue }
            result.append(
                GATTService(
                    uuid: service.uuid, handle: handle,
                    characteristics: characteristics.sorted { $0.handle < $1.handle }))
        }
        discovered = []
        return GATTDatabase(services: result.sorted { $0.handle < $1.handle })
    }
}
