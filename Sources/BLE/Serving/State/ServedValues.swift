/// The values of served attributes that differ from those of their definitions, and the reads that go on.
struct ServedValues {
    private var stored: [ServedAttribute: [UInt8]] = [:]
    /// The values that centrals are reading in parts.
    private var snapshots: [ServedAttribute: [DeviceID: [UInt8]]] = [:]

    /// The value that was stored. Nil for that of the definition. A central that reads in parts receives the rest of
    /// the one that it has begun with.
    subscript(_ attribute: ServedAttribute) -> [UInt8]? {
        get { stored[attribute] }
        set { stored[attribute] = newValue }
    }

    /// Removes everything of a definition.
    mutating func removeAll(of application: Int) {
        stored = stored.filter { $0.key.application != application }
        endReading(of: application)
    }

    // MARK: Reads in parts

    /// The bytes that fit the shortest response to a read: an ATT MTU of 23, without the opcode. What fits it is not
    /// continued.
    private static let shortestPart = 22

    /// Keeps a value for the rest of a read in parts, in place of an earlier one.
    mutating func beginReading(_ value: [UInt8], of attribute: ServedAttribute, by central: DeviceID) {
        guard value.count >= Self.shortestPart else { return endReading(attribute, by: central) }
        snapshots[attribute, default: [:]][central] = value
    }

    /// Whether a central is reading a value in parts.
    func isReading(_ attribute: ServedAttribute, by central: DeviceID) -> Bool {
        snapshots[attribute]?[central] != nil
    }

    /// Returns the rest of the value that a central is reading in parts. Nil if it is not reading one. A short rest is
    /// the last part.
    mutating func continueReading(
        _ attribute: ServedAttribute, by central: DeviceID, from offset: Int
    ) -> [UInt8]? {
        guard let value = snapshots[attribute]?[central], offset <= value.count else { return nil }
        if value.count - offset < Self.shortestPart { endReading(attribute, by: central) }
        return Array(value.dropFirst(offset))
    }

    /// Forgets the value that a central is reading, which it is about to change itself.
    mutating func endReading(_ attribute: ServedAttribute, by central: DeviceID) {
        snapshots[attribute]?[central] = nil
        if snapshots[attribute]?.isEmpty == true { snapshots[attribute] = nil }
    }

    /// Forgets the values that a central is reading.
    mutating func endReading(by central: DeviceID) {
        for attribute in snapshots.keys { endReading(attribute, by: central) }
    }

    /// Forgets the values that are being read of a definition, or all of them.
    mutating func endReading(of application: Int? = nil) {
        snapshots = snapshots.filter { $0.key.application != application ?? $0.key.application }
    }
}

extension PeripheralDefinition {
    func characteristic(at attribute: ServedAttribute) -> CharacteristicDefinition? {
        guard services.indices.contains(attribute.service) else { return nil }
        let characteristics = services[attribute.service].characteristics
        guard characteristics.indices.contains(attribute.characteristic) else { return nil }
        return characteristics[attribute.characteristic]
    }

    /// Returns the places of the characteristics with a key, in order.
    func attributes(of key: CharacteristicKey, application: Int) -> [ServedAttribute] {
        services.indices.flatMap { service -> [ServedAttribute] in
            guard key.service == nil || key.service == services[service].uuid else { return [] }
            let characteristics = services[service].characteristics
            return characteristics.indices.filter { characteristics[$0].uuid == key.characteristic }.map {
                ServedAttribute(application: application, service: service, characteristic: $0)
            }
        }
    }
}

extension CharacteristicDefinition {
    /// The descriptor at a position. Nil for the characteristic itself.
    private func descriptor(at attribute: ServedAttribute) -> DescriptorDefinition? {
        attribute.descriptor.flatMap { descriptors.indices.contains($0) ? descriptors[$0] : nil }
    }

    /// Returns the value of the characteristic, or of its descriptor. Nil if there is no such descriptor.
    func value(at attribute: ServedAttribute) -> [UInt8]? {
        attribute.descriptor == nil ? value : descriptor(at: attribute)?.value
    }

    /// Returns what answers reads instead of a value.
    func reader(at attribute: ServedAttribute) -> ReadHandler? {
        attribute.descriptor == nil ? onRead : descriptor(at: attribute)?.onRead
    }

    /// Returns what handles writes instead of storing the value.
    func writer(at attribute: ServedAttribute) -> WriteHandler? {
        attribute.descriptor == nil ? onWrite : descriptor(at: attribute)?.onWrite
    }

    /// The type of the descriptor.
    func descriptorType(at attribute: ServedAttribute) -> BluetoothUUID? { descriptor(at: attribute)?.uuid }

    /// Whether it has one of the properties. A descriptor can always be read.
    func allows(_ attribute: ServedAttribute, _ properties: CharacteristicProperties) -> Bool {
        guard attribute.descriptor != nil else { return !self.properties.isDisjoint(with: properties) }
        return properties == .read || descriptor(at: attribute)?.isWritable ?? true
    }
}
