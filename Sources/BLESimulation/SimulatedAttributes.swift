internal import BLE

/// The attributes of a simulated peripheral: a definition with its handles and its present values.
///
/// Handles are given out as most peripherals do: a service's declaration, then for each characteristic its declaration, its
/// value, the client characteristic configuration where it notifies or indicates, and its descriptors.
struct SimulatedAttributes {
    struct Attribute {
        let definition: CharacteristicDefinition
        var value: [UInt8]
    }

    private(set) var database: GATTDatabase
    private(set) var characteristics: [UInt16: Attribute] = [:]
    private(set) var descriptors: [UInt16: [UInt8]] = [:]

    init(_ services: [ServiceDefinition]) {
        var last: UInt16 = 0
        func next() -> UInt16 {
            last += 1
            return last
        }
        var characteristics: [UInt16: Attribute] = [:]
        var descriptors: [UInt16: [UInt8]] = [:]
        database = GATTDatabase(
            services: services.map { service in
                GATTService(
                    uuid: service.uuid, handle: next(), isPrimary: service.isPrimary,
                    characteristics: service.characteristics.map { definition in
                        let handle = next()
                        _ = next()
                        characteristics[handle] = Attribute(definition: definition, value: definition.value)
                        var all = definition.descriptors
                        if !definition.properties.isDisjoint(with: [.notify, .indicate]) {
                            all.insert(DescriptorDefinition(BluetoothUUID(0x2902), value: [0, 0]), at: 0)
                        }
                        let found = all.map { descriptor in
                            let handle = next()
                            descriptors[handle] = descriptor.value
                            return GATTDescriptor(uuid: descriptor.uuid, handle: handle)
                        }
                        return GATTCharacteristic(
                            uuid: definition.uuid, handle: handle, properties: definition.properties, descriptors: found
                        )
                    })
            })
        self.characteristics = characteristics
        self.descriptors = descriptors
    }

    mutating func set(_ value: [UInt8], of handle: UInt16) {
        characteristics[handle]?.value = value
    }

    mutating func setDescriptor(_ value: [UInt8], of handle: UInt16) {
        descriptors[handle] = value
    }

    /// The handles of the characteristics of that type.
    func handles(of uuid: BluetoothUUID) -> [UInt16] {
        database.flatMap(\.characteristics).filter { $0.uuid == uuid }.map(\.handle)
    }
}
