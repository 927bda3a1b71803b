internal import BLE

/// A request of the discovery procedures (Core Specification 5.4, volume 3, part G, sections 4.4 to 4.7), and what its
/// answer tells about the attributes.
struct ATTDiscoveryRequest {
    private let opcode: UInt8
    private let start: UInt16
    private let end: UInt16
    /// The attribute type that it asks for. Nil if it asks for any.
    let type: BluetoothUUID?
    /// The service that it asks for.
    private let service: BluetoothUUID?

    /// Reads the request after its opcode. Nil if it is malformed.
    init?(_ opcode: UInt8, _ reader: inout PacketReader) {
        guard let start = reader.uint16(), let end = reader.uint16(), start > 0, start <= end else { return nil }
        self.opcode = opcode
        self.start = start
        self.end = end
        switch opcode {
        case ATTOpcode.findInformation:
            type = nil
            service = nil
        case ATTOpcode.findByTypeValue:
            guard let type = reader.uuid(2), let service = reader.uuid(reader.remaining) else { return nil }
            self.type = type
            self.service = service
        default:
            guard let type = reader.uuid(reader.remaining) else { return nil }
            self.type = type
            service = nil
        }
    }

    /// Whether it reads values by their type, which is no discovery.
    var isOther: Bool { opcode == ATTOpcode.readByType && type != .include && type != .characteristic }

    /// Whether it asks for services.
    var isForServices: Bool { opcode == ATTOpcode.readByGroupType || opcode == ATTOpcode.findByTypeValue }

    /// Whether it asks for the first of all services.
    var beginsDiscovery: Bool { opcode == ATTOpcode.readByGroupType && type == .primaryService && start == 1 }

    // MARK: Answers

    /// Takes the response, after its opcode. False if it is malformed.
    func apply(_ reader: inout PacketReader, to attributes: inout DiscoveredAttributes) -> Bool {
        switch opcode {
        case ATTOpcode.findInformation: return applyInformation(&reader, &attributes)
        case ATTOpcode.findByTypeValue:
            guard type == .primaryService, let service else { return true }
            var found: [(UInt16, DiscoveredAttributes.Service)] = []
            while let handle = reader.uint16(), let end = reader.uint16() {
                found.append((handle, DiscoveredAttributes.Service(end: end, uuid: service)))
            }
            attributes.add(found)
            return true
        default:
            guard let count = reader.uint8(), count >= 2 else { return false }
            var entries: [(UInt16, PacketReader)] = []
            while let handle = reader.uint16(), let value = reader.bytes(Int(count) - 2) {
                entries.append((handle, PacketReader(value)))
            }
            return type == .include || type == .characteristic
                ? applyDeclarations(entries, &attributes) : applyServices(entries, &attributes)
        }
    }

    /// Takes the error that nothing was found.
    func applyNothing(to attributes: inout DiscoveredAttributes) {
        switch (opcode, type) {
        case (ATTOpcode.findInformation, _): attributes.setTypes([], covering: start...end)
        case (ATTOpcode.readByGroupType, .primaryService), (ATTOpcode.readByGroupType, .secondaryService):
            attributes.setServices([], isPrimary: type == .primaryService, covering: start...end)
        case (ATTOpcode.readByType, .include): attributes.setIncludes([], covering: start...end)
        case (ATTOpcode.readByType, .characteristic): attributes.setCharacteristics([], covering: start...end)
        default: break
        }
    }

    /// The handles that an answer covers whose last entry is `last`.
    private func range(_ last: UInt16?) -> ClosedRange<UInt16>? {
        guard let last, last >= start, last <= end else { return nil }
        return start...last
    }

    private func applyServices(
        _ entries: [(UInt16, PacketReader)], _ attributes: inout DiscoveredAttributes
    ) -> Bool {
        guard type == .primaryService || type == .secondaryService else { return true }
        var found: [(UInt16, DiscoveredAttributes.Service)] = []
        for (handle, value) in entries {
            var value = value
            guard let end = value.uint16(), let uuid = value.uuid(value.remaining) else { return false }
            found.append((handle, DiscoveredAttributes.Service(end: end, uuid: uuid)))
        }
        guard let range = range(found.last?.0) else { return false }
        attributes.setServices(found, isPrimary: type == .primaryService, covering: range)
        return true
    }

    private func applyDeclarations(
        _ entries: [(UInt16, PacketReader)], _ attributes: inout DiscoveredAttributes
    ) -> Bool {
        guard let range = range(entries.last?.0) else { return false }
        if type == .include {
            var found: [(UInt16, UInt16)] = []
            for (handle, value) in entries {
                var value = value
                guard let service = value.uint16() else { return false }
                found.append((handle, service))
            }
            attributes.setIncludes(found, covering: range)
            return true
        }
        var found: [(UInt16, DiscoveredAttributes.Characteristic)] = []
        for (handle, value) in entries {
            var value = value
            guard let properties = value.uint8(), let valueHandle = value.uint16(),
                let uuid = value.uuid(value.remaining)
            else { return false }
            found.append(
                (
                    handle,
                    DiscoveredAttributes.Characteristic(valueHandle: valueHandle, uuid: uuid, properties: properties)
                ))
        }
        attributes.setCharacteristics(found, covering: range)
        return true
    }

    private func applyInformation(_ reader: inout PacketReader, _ attributes: inout DiscoveredAttributes) -> Bool {
        guard let format = reader.uint8(), format == 1 || format == 2 else { return false }
        var found: [(UInt16, BluetoothUUID)] = []
        while let handle = reader.uint16(), let uuid = reader.uuid(format == 1 ? 2 : 16) {
            found.append((handle, uuid))
        }
        guard let range = range(found.last?.0) else { return false }
        attributes.setTypes(found, covering: range)
        return true
    }
}
