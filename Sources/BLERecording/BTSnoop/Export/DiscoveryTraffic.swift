internal import BLE

/// The PDUs with which a client discovers a database: services, included services, characteristics, descriptors, and
/// extended properties (Core Specification 5.4, volume 3, part G, section 4).
struct DiscoveryTraffic {
    private struct Service {
        let found: GATTService
        let end: UInt16
    }

    private let services: [Service]
    /// The positions of the services, by their handles.
    private let positions: [UInt16: Int]
    private let mtu: Int

    /// - Parameter mtu: the ATT MTU, in bytes, at least 23.
    init(_ database: GATTDatabase, mtu: Int) {
        self.mtu = mtu
        let sorted = database.services.sorted { $0.handle < $1.handle }
        services = sorted.enumerated().map { index, service in
            let limit = index + 1 < sorted.count ? max(Int(sorted[index + 1].handle) - 1, Int(service.handle)) : 0xFFFF
            return Service(found: service, end: UInt16(min(service.lastHandle, limit)))
        }
        positions = Dictionary(sorted.enumerated().map { ($1.handle, $0) }) { first, _ in first }
    }

    var pdus: [ATTPDU] {
        var pdus = groups(isPrimary: true) + groups(isPrimary: false)
        for service in services where service.end > service.found.handle {
            pdus += includes(of: service)
            let characteristics = service.found.characteristics.sorted { $0.handle < $1.handle }
                .filter { $0.handle > service.found.handle && $0.handle < service.end }
            pdus += declarations(characteristics, in: service)
            for (index, characteristic) in characteristics.enumerated() {
                let isLast = index + 1 == characteristics.count
                let end = isLast ? service.end : characteristics[index + 1].handle - 1
                pdus += descriptors(of: characteristic, end: end)
            }
        }
        return pdus
    }

    // MARK: Procedures

    /// Makes the requests for what is in a range, and their responses: `fields` come before and after the range in a
    /// request. Responses have as many entries as fit, all of one length. The last request finds nothing.
    private func procedure(
        _ opcode: UInt8, type: BluetoothUUID?, _ range: ClosedRange<UInt16>,
        _ entries: [(last: UInt16, bytes: [UInt8])], header: (Int) -> UInt8
    ) -> [ATTPDU] {
        var pdus: [ATTPDU] = []
        var start = range.lowerBound
        var rest = entries[...]
        func request() -> ATTPDU {
            var bytes: [UInt8] = []
            if let type { bytes.append(type) }
            return .sent(opcode, start, range.upperBound, value: bytes)
        }
        while let first = rest.first {
            let count = first.bytes.count
            let batch = rest.prefix((min(mtu, 255) - 2) / count).prefix { $0.bytes.count == count }
            guard let last = batch.last else { break }
            let bytes = [header(count)] + batch.flatMap(\.bytes)
            pdus += [request(), .received(ATTOpcode.response(to: opcode), value: bytes)]
            rest = rest.dropFirst(batch.count)
            guard last.last < range.upperBound else { return pdus }
            start = last.last + 1
        }
        return pdus + [request(), .failure(of: opcode, handle: start, .attributeNotFound)]
    }

    private func groups(isPrimary: Bool) -> [ATTPDU] {
        let entries = services.filter { $0.found.isPrimary == isPrimary }.map { service in
            var bytes: [UInt8] = []
            bytes.append16(service.found.handle)
            bytes.append16(service.end)
            bytes.append(service.found.uuid)
            return (last: service.end, bytes: bytes)
        }
        return procedure(
            ATTOpcode.readByGroupType, type: isPrimary ? .primaryService : .secondaryService, 1...0xFFFF, entries
        ) { UInt8($0) }
    }

    private func includes(of service: Service) -> [ATTPDU] {
        // Their declarations follow that of the service.
        var handle = service.found.handle
        let entries = service.found.includedHandles.compactMap { included -> (last: UInt16, bytes: [UInt8])? in
            guard handle < service.end else { return nil }
            handle += 1
            let other = positions[included].map { services[$0] }
            var bytes: [UInt8] = []
            bytes.append16(handle)
            bytes.append16(included)
            bytes.append16(other?.end ?? included)
            // A UUID of 128 bits is read from the included service's declaration.
            if let uuid = other?.found.uuid, uuid.short != nil { bytes.append(uuid) }
            return (handle, bytes)
        }
        return procedure(
            ATTOpcode.readByType, type: .include, service.found.handle...service.end, entries
        ) { UInt8($0) }
    }

    private func declarations(_ characteristics: [GATTCharacteristic], in service: Service) -> [ATTPDU] {
        let entries = characteristics.map { characteristic in
            var bytes: [UInt8] = []
            bytes.append16(characteristic.handle)
            bytes.append(UInt8(truncatingIfNeeded: characteristic.properties.rawValue))
            bytes.append16(characteristic.valueHandle)
            bytes.append(characteristic.uuid)
            return (last: characteristic.handle, bytes: bytes)
        }
        return procedure(
            ATTOpcode.readByType, type: .characteristic, service.found.handle...service.end, entries
        ) { UInt8($0) }
    }

    private func descriptors(of characteristic: GATTCharacteristic, end: UInt16) -> [ATTPDU] {
        guard let start = characteristic.valueHandle.next, start <= end else { return [] }
        let found = characteristic.descriptors.sorted { $0.handle < $1.handle }
            .filter { (start...end).contains($0.handle) }
        let entries = found.map { descriptor in
            var bytes: [UInt8] = []
            bytes.append16(descriptor.handle)
            bytes.append(descriptor.uuid)
            return (last: descriptor.handle, bytes: bytes)
        }
        var pdus = procedure(ATTOpcode.findInformation, type: nil, start...end, entries) { $0 == 4 ? 1 : 2 }
        if let descriptor = found.first(where: { $0.uuid == .extendedProperties }) {
            let bits = UInt8(truncatingIfNeeded: characteristic.properties.rawValue >> 8)
            pdus += ATTTraffic(mtu: mtu, outcome: .success([bits, 0])).read(descriptor.handle, offset: 0)
        }
        return pdus
    }
}

extension GATTCharacteristic {
    /// The handle of the value, which follows the declaration (Core Specification 5.4, volume 3, part G, section
    /// 3.3.2).
    var valueHandle: UInt16 { handle.next ?? handle }
}

extension GATTService {
    /// The highest handle of the service.
    var lastHandle: Int {
        let values = characteristics.map { Int($0.handle) + 1 }
        let descriptors = characteristics.flatMap(\.descriptors).map { Int($0.handle) }
        let last = ([Int(handle) + includedHandles.count] + values + descriptors).reduce(0) { $0 > $1 ? $0 : $1 }
        return last < 0xFFFF ? last : 0xFFFF
    }
}
