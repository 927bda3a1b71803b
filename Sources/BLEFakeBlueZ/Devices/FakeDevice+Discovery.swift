import BLE

extension FakeDevice {
    /// Takes the services that were discovered, unless they are those of the last discovery: the daemon compares the
    /// hash of a peripheral's database.
    mutating func take(_ discovered: GATTDatabase) {
        guard discovered != self.discovered else { return }
        database = database.map { $0.replaced(by: discovered) } ?? discovered
        self.discovered = discovered
    }
}

extension GATTDatabase {
    /// What the daemon has after a discovery, if it knew these services.
    ///
    /// `discovery_parse_services` of its `src/shared/gatt-client.c` has two errors: a service whose handles were those
    /// of another becomes a secondary one, and what follows the last of these is removed. The last one is a secondary
    /// service, which are discovered after the primary ones, even if it has the lowest handles.
    func replaced(by discovered: GATTDatabase) -> GATTDatabase {
        var known = Array(services)
        var taken: [GATTService] = []
        var last = UInt16.max
        for service in discovered.filter(\.isPrimary) + discovered.filter({ !$0.isPrimary }) {
            let handles = service.handles
            let former = known.filter { $0.handles.overlaps(handles) }
            known.removeAll { $0.handles.overlaps(handles) }
            let isSame = former.allSatisfy {
                $0.uuid == service.uuid && $0.isPrimary == service.isPrimary && $0.handles == handles
            }
            taken.append(isSame ? service : service.secondary)
            last = isSame ? Swift.max(last, handles.upperBound) : handles.upperBound
        }
        taken.removeAll { $0.handles.upperBound > last }
        return GATTDatabase(services: taken.sorted { $0.handle < $1.handle })
    }
}

extension GATTService {
    /// From its declaration to its last value or descriptor.
    fileprivate var handles: ClosedRange<UInt16> {
        let included = Swift.min(Int(handle) + includedHandles.count, Int(UInt16.max))
        let last = characteristics.last.map { Swift.max($0.handle &+ 1, $0.descriptors.last?.handle ?? 0) } ?? 0
        return handle...Swift.max(handle, UInt16(included), last)
    }

    fileprivate var secondary: GATTService {
        GATTService(
            uuid: uuid, handle: handle, isPrimary: false, characteristics: characteristics,
            includedHandles: includedHandles)
    }
}
