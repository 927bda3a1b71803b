import BLE

/// Finds the peripheral that a command line means.
struct Finder {
    let central: Central
    let output: Output
    let timeout: Duration

    /// How long to listen on for a second peripheral with the same prefix.
    private static let ambiguityWindow = Duration.seconds(1)

    /// The peripheral with that address or name prefix; without one, the first that offers `service`.
    func find(_ id: String?, offering service: BluetoothUUID? = nil) async throws -> Peripheral {
        let known = await central.knownPeripherals()
        guard let id else {
            // (one that is connected does not advertise)
            if let service,
                let found = known.first(where: { $0.isConnected && $0.advertisement.serviceUUIDs.contains(service) })
            {
                return central.peripheral(found.id)
            }
            return try await search("a peripheral with service \(service?.description ?? "any")", service) { _ in .this
            }
        }
        if id.isAddress {
            if let found = known.first(where: { $0.id.rawValue.uppercased() == id.uppercased() }) {
                return central.peripheral(found.id)
            }
            return try await search(id, nil) { $0.peripheral.id.rawValue.uppercased() == id.uppercased() ? .this : .no }
        }
        let connected = known.filter { $0.isConnected && $0.advertisement.localName?.hasPrefix(id) == true }
        if connected.count == 1 { return central.peripheral(connected[0].id) }
        return try await search("\"\(id)\"", nil) { found in
            guard let name = found.advertisement.localName else { return .no }
            return name == id ? .this : name.hasPrefix(id) ? .candidate : .no
        }
    }

    private enum Match {
        case no
        /// It fits, but others may too.
        case candidate
        case this
    }

    private func search(
        _ what: String, _ service: BluetoothUUID?, _ match: @escaping @Sendable (Discovery) -> Match
    ) async throws -> Peripheral {
        let criteria = service.map { DiscoveryCriteria.service($0) } ?? .any
        let (central, timeout) = (central, timeout)
        let found = try await output.progress.during("Looking for \(what)", limit: timeout) {
            try await limited(to: timeout) { candidates in
                for try await event in central.discoveryEvents(matching: criteria, staleAfter: nil) {
                    switch event {
                    case .found(let discovery), .updated(let discovery):
                        switch match(discovery) {
                        case .no: continue
                        case .this: return discovery
                        case .candidate: candidates.add(discovery)
                        }
                    case .lost: continue
                    }
                }
                return nil
            }
        }
        guard let found else {
            throw BLEError(
                .peripheralNotFound, "\(what) was not heard within \(timeout)",
                remedy: "Is it on, in range, and not connected to something else? See ble scan.")
        }
        return found
    }

    /// Runs the search; ends it at the limit, or a moment after the first candidate.
    private func limited(
        to timeout: Duration, _ search: @escaping @Sendable (Candidates) async throws -> Discovery?
    ) async throws -> Peripheral? {
        let candidates = Candidates()
        return try await withThrowingTaskGroup(of: Discovery?.self) { group in
            group.addTask { try await search(candidates) }
            group.addTask {
                try await Task.sleep(for: timeout)
                return nil
            }
            group.addTask {
                _ = try await candidates.first()
                try await Task.sleep(for: Self.ambiguityWindow)
                return nil
            }
            defer { group.cancelAll() }
            if let exact = try await group.next() ?? nil { return exact.peripheral }
            let all = candidates.all
            guard all.count <= 1 else {
                let list = all.map { "\($0.advertisement.localName ?? "?") (\($0.peripheral.id))" }.sorted()
                throw BLEError(
                    .ambiguousPeripheral, "several peripherals fit: \(list.joined(separator: ", "))",
                    remedy: "Give more of the name, or the address.")
            }
            return all.first?.peripheral
        }
    }
}

extension String {
    /// Six pairs of hexadecimal digits with colons between.
    var isAddress: Bool {
        let groups = split(separator: ":", omittingEmptySubsequences: false)
        return groups.count == 6 && groups.allSatisfy { $0.count == 2 && $0.allSatisfy(\.isHexDigit) }
    }
}
