package import BLE

/// The attributes of a simulated peripheral: a definition with its handles and current values.
///
/// Handles are assigned as in most peripherals: a service's declaration and the declarations of its included services,
/// then for each characteristic its declaration, its value, the client characteristic configuration if it notifies or
/// indicates, the extended properties if it has any, and its other descriptors. Services with a fixed handle precede
/// the others.
struct SimulatedAttributes {
    /// A class, so that a new value copies nothing else.
    final class Attribute {
        let definition: CharacteristicDefinition
        /// What no other characteristic of the peripheral has or had. It stays when services are replaced in which the
        /// characteristic is as before.
        let identity: Int
        var value: [UInt8]

        init(_ definition: CharacteristicDefinition, identity: Int, value: [UInt8]? = nil) {
            (self.definition, self.identity, self.value) = (definition, identity, value ?? definition.value)
        }
    }

    struct Descriptor {
        let definition: DescriptorDefinition
        var value: [UInt8]
    }

    private(set) var database: GATTDatabase
    private(set) var characteristics: [UInt16: Attribute] = [:]
    private(set) var descriptors: [UInt16: Descriptor] = [:]
    private var handles: [BluetoothUUID: [UInt16]] = [:]
    /// The services of the characteristics.
    private var services: [UInt16: (uuid: BluetoothUUID, handle: UInt16)] = [:]
    /// The handles of the services, in the order of their definitions.
    private var declarations: [UInt16]
    /// The number of characteristics that the peripheral has had.
    private var count: Int

    /// - Parameter former: the attributes that these replace.
    init(_ services: [ServiceDefinition], replacing former: SimulatedAttributes? = nil) {
        var count = former?.count ?? 0
        var last: UInt16 = 0
        var highest = services.compactMap(\.handles).map { UInt16(truncatingIfNeeded: $0.upperBound) }.max() ?? 0
        func next() -> UInt16 {
            last &+= 1
            highest = max(highest, last)
            return last
        }
        var characteristics: [UInt16: Attribute] = [:]
        var handles: [BluetoothUUID: [UInt16]] = [:]
        var descriptors: [UInt16: Descriptor] = [:]
        let found = services.map { service in
            last = service.handle.map { $0 &- 1 } ?? highest
            let declaration = next()
            for _ in service.includes { _ = next() }
            return GATTService(
                uuid: service.uuid, handle: declaration, isPrimary: service.isPrimary,
                characteristics: service.characteristics.map { definition in
                    let handle = next()
                    _ = next()
                    count += 1
                    characteristics[handle] = Attribute(definition, identity: count)
                    handles[definition.uuid, default: []].append(handle)
                    let found = Self.descriptors(of: definition).map { descriptor in
                        let handle = next()
                        descriptors[handle] = Descriptor(definition: descriptor, value: descriptor.value)
                        return GATTDescriptor(uuid: descriptor.uuid, handle: handle)
                    }
                    return GATTCharacteristic(
                        uuid: definition.uuid, handle: handle, properties: Self.properties(of: definition),
                        descriptors: found)
                })
        }
        // A service may include a later one.
        database = GATTDatabase(
            services: zip(services, found).map { definition, service in
                GATTService(
                    uuid: service.uuid, handle: service.handle, isPrimary: service.isPrimary,
                    characteristics: service.characteristics,
                    includedHandles: definition.includes.compactMap { type in
                        found.first { $0.uuid == type }?.handle
                    }.sorted())
            }.sorted { $0.handle < $1.handle })
        self.characteristics = characteristics
        self.handles = handles.mapValues { $0.sorted() }
        self.descriptors = descriptors
        self.count = count
        declarations = found.map(\.handle)
        for service in database {
            for characteristic in service.characteristics {
                self.services[characteristic.handle] = (service.uuid, service.handle)
            }
        }
    }

    /// The handles of the characteristics in services that are as they were in others.
    func unchanged(from former: SimulatedAttributes) -> Set<UInt16> {
        let present = Set(database.services)
        return Set(former.database.services.filter(present.contains).flatMap(\.characteristics).map(\.handle))
    }

    /// Goes on with characteristics of the former services, which these have replaced. Their values stay, unless their
    /// definitions have others than before.
    mutating func keep(_ handles: Set<UInt16>, of former: SimulatedAttributes) {
        for handle in handles {
            guard let old = former.characteristics[handle], let new = characteristics[handle] else { continue }
            characteristics[handle] = Attribute(
                new.definition, identity: old.identity,
                value: new.definition.value == old.definition.value ? old.value : nil)
        }
        for characteristic in database.flatMap(\.characteristics) where handles.contains(characteristic.handle) {
            for handle in characteristic.descriptors.map(\.handle) {
                guard let old = former.descriptors[handle], descriptors[handle]?.value == old.definition.value
                else { continue }
                descriptors[handle]?.value = old.value
            }
        }
    }

    private static let extended: CharacteristicProperties = [.reliableWrite, .writableAuxiliaries]

    private static func properties(of definition: CharacteristicDefinition) -> CharacteristicProperties {
        definition.properties.isDisjoint(with: extended)
            ? definition.properties : definition.properties.union(.extendedProperties)
    }

    /// Returns the descriptors of the definition, after those that exist implicitly.
    private static func descriptors(of definition: CharacteristicDefinition) -> [DescriptorDefinition] {
        var all = definition.descriptors
        if !definition.properties.isDisjoint(with: extended) {
            let bits = UInt8(definition.properties.intersection(extended).rawValue >> 8)
            all.insert(DescriptorDefinition(BluetoothUUID(0x2900), value: [bits, 0]), at: 0)
        }
        if !definition.properties.isDisjoint(with: [.notify, .indicate]) {
            all.insert(DescriptorDefinition(BluetoothUUID(0x2902), value: [0, 0]), at: 0)
        }
        return all
    }

    mutating func setDescriptor(_ value: [UInt8], of handle: UInt16) {
        descriptors[handle]?.value = value
    }

    /// Returns the handle of the first characteristic that a key identifies. Nil if there is none.
    func handle(of key: CharacteristicKey) -> UInt16? {
        handles(of: key.characteristic).first { isHandle($0, of: key) }
    }

    /// Returns the handles of the characteristics that a key identifies, in order.
    func handles(of key: CharacteristicKey) -> [UInt16] {
        handles(of: key.characteristic).filter { isHandle($0, of: key) }
    }

    private func isHandle(_ handle: UInt16, of key: CharacteristicKey) -> Bool {
        guard let service = services[handle] else { return false }
        return (key.handle ?? handle) == handle && (key.service ?? service.uuid) == service.uuid
            && (key.serviceHandle ?? service.handle) == service.handle
    }

    /// Returns the handle of a characteristic, by the positions of it and its service in the definitions.
    func handle(ofCharacteristic index: Int, inService position: Int) -> UInt16? {
        guard declarations.indices.contains(position),
            let service = database.first(where: { $0.handle == declarations[position] }),
            service.characteristics.indices.contains(index)
        else { return nil }
        return service.characteristics[index].handle
    }

    /// Returns the handles of the characteristics of a type, in order.
    func handles(of uuid: BluetoothUUID) -> [UInt16] { handles[uuid] ?? [] }
}

extension GATTDatabase {
    /// The services of a definition, with the handles that a simulated peripheral has.
    package init(of services: [ServiceDefinition]) { self = SimulatedAttributes(services).database }
}
