internal import Waiting

/// Scanning with all radios, and what they know.
extension RadiosBackend {
    /// Starts to scan with all radios that are on. The others begin when they are.
    ///
    /// Throws the error of the first radio if none scans.
    package func startDiscovery(_ filter: DiscoveryFilter) async throws(BLEError) {
        wanted = filter
        do throws(BLEError) {
            try await onAll(where: \.isOn, tolerating: { _ in true }) { (me, radio) throws(BLEError) in
                try await me.startDiscovery(filter, on: radio)
            }
        } catch {
            // A radio that comes later must not scan for a scan that has failed.
            if wanted == filter { wanted = nil }
            throw error
        }
        for radio in members.indices { recover(radio, isLate: true) }
    }

    package func stopDiscovery() async throws(BLEError) {
        wanted = nil
        guard members.contains(where: \.hasScan) else { return }
        try await onAll(where: \.hasScan) { (me, radio) throws(BLEError) in
            try await me.stopDiscovery(on: radio)
        }
    }

    /// Starts a radio's scan. Throws why it has ended if that has happened during its start.
    func startDiscovery(_ filter: DiscoveryFilter, on radio: Int) async throws(BLEError) {
        // What is heard while it starts is this scan's.
        if members[radio].filter == nil { choice.scanBegan(on: radio) }
        members[radio].scanStarts += 1
        defer { members[radio].scanStarts -= 1 }
        let ends = members[radio].scanEnds.count
        try await members[radio].backend.startDiscovery(filter)
        guard members[radio].isOn else { return }
        if members[radio].scanEnds.count != ends, let reason = members[radio].scanEnds.reason { throw reason }
        members[radio].filter = filter
        refresh(radio)
        scanBegan(on: radio, filter)
    }

    func stopDiscovery(on radio: Int) async throws(BLEError) {
        // After a failure, too, the next scan is a new one.
        defer { scanEnded(on: radio) }
        try await members[radio].backend.stopDiscovery()
    }

    /// Runs `work` for each radio that matches, at the same time. Throws the first radio's error if it fails for one,
    /// or if it fails for all with errors that are tolerated.
    func onAll(
        where matches: (Member) -> Bool, tolerating isTolerated: (BLEError) -> Bool = { _ in false },
        _ work: @escaping @Sendable (isolated RadiosBackend, Int) async throws(BLEError) -> Void
    ) async throws(BLEError) {
        let radios = members.indices.filter { members[$0].state != nil && matches(members[$0]) }
        // Nothing to run at the same time, and no task. Without a radio that is on, the first says what is in the way.
        guard radios.count > 1 else { return try await work(self, radios.first ?? 0) }
        let errors = await withTaskGroup(of: (Int, BLEError?).self) { [taskExecutor] group in
            for radio in radios {
                group.addTask(executorPreference: taskExecutor) { (radio, await self.attempt(radio, work)) }
            }
            var errors: [Int: BLEError] = [:]
            for await (radio, error) in group { errors[radio] = error }
            return errors
        }
        let isEverywhere = errors.count == radios.count
        let error = radios.lazy.compactMap { errors[$0] }.first { isEverywhere || !isTolerated($0) }
        if let error { throw error }
    }

    private func attempt(
        _ radio: Int, _ work: (isolated RadiosBackend, Int) async throws(BLEError) -> Void
    ) async -> BLEError? {
        do throws(BLEError) {
            try await work(self, radio)
            return nil
        } catch {
            return error
        }
    }

    /// What the radios know together. The advertisement is that of the peripheral's source.
    package func knownPeripherals() -> [KnownPeripheral] {
        var all: [Peripheral.ID: KnownPeripheral] = [:]
        for radio in members.indices where members[radio].state != nil {
            for known in members[radio].backend.assumeIsolated({ $0.knownPeripherals() }) {
                let other = all[known.id]
                let source = choice.source(of: known.id)
                // Of a peripheral that no radio hears, it is that of a radio with a link.
                let isBetter = source.map { $0 == radio } ?? (known.isConnected && other?.isConnected == false)
                var advertisement = known.advertisement
                advertisement.radio = UInt8(truncatingIfNeeded: radio)
                if let other, !isBetter { advertisement = other.advertisement }
                all[known.id] = KnownPeripheral(
                    id: known.id, advertisement: advertisement,
                    isConnected: known.isConnected || other?.isConnected == true,
                    services: known.services.union(other?.services ?? []))
            }
        }
        return all.values.sorted { $0.id < $1.id }
    }

    // MARK: Adapters

    /// The adapters of all radios. One that cannot be asked does not stand in the way of the others.
    package func adapters() async throws(BLEError) -> [Adapter] {
        var all: [String: Adapter] = [:]
        var failure: BLEError?
        for member in members where member.state != nil {
            do throws(BLEError) {
                for adapter in try await member.backend.adapters() where all[adapter.id]?.isInUse != true {
                    all[adapter.id] = adapter
                }
            } catch {
                failure = failure ?? error
            }
        }
        if all.isEmpty, let failure { throw failure }
        return all.values.sorted { ($0.id.utf8.count, $0.id) < ($1.id.utf8.count, $1.id) }
    }

    package func setPowered(_ isPowered: Bool, adapter: String?) async throws(BLEError) {
        repeat {
            if !isPowered { await endRestarts(of: adapter) }
            try await onAdapter(adapter) { (backend, id) throws(BLEError) in
                try await backend.setPowered(isPowered, adapter: id)
            }
            if isPowered { return }
            // A restart may have begun while the radios were asked for the adapter. None begins with one that is off.
        } while await restarting(adapter).isEmpty == false
    }

    /// The radios that a restart may have powered off, of an adapter or of all.
    private func restarting(_ adapter: String?) async -> [Int] {
        var radios = members.indices.filter { members[$0].isRestarting }
        guard let adapter else { return radios }
        for radio in radios {
            if await !uses(adapter, radio) { radios.removeAll { $0 == radio } }
        }
        return radios
    }

    /// Gives up to power radios on that a restart has powered off: the program wants them off.
    private func endRestarts(of adapter: String?) async {
        for radio in await restarting(adapter) where members[radio].isRestarting {
            setRestarting(false, radio)
            // The call of the restart powers it on, and must have returned before.
            members[radio].recovery?.cancel()
            await members[radio].recovery?.value
        }
    }

    /// Whether a radio uses an adapter. One that cannot be asked does not: it must not stand in the way of the others.
    private func uses(_ adapter: String, _ radio: Int) async -> Bool {
        guard members[radio].state != nil else { return false }
        return (try? await members[radio].backend.adapters())?.contains { $0.id == adapter && $0.isInUse } == true
    }

    package func setAlias(_ alias: String, adapter: String?) async throws(BLEError) {
        try await onAdapter(adapter) { (backend, id) throws(BLEError) in
            try await backend.setAlias(alias, adapter: id)
        }
    }

    /// Runs `work` with the radio that uses an adapter, or else with one that knows it, or with nil with all of them.
    private func onAdapter(
        _ id: String?, _ work: @escaping @Sendable (any CentralBackend, String?) async throws(BLEError) -> Void
    ) async throws(BLEError) {
        guard let id else {
            return try await onAll(where: \.isThere) { (me, radio) throws(BLEError) in
                try await work(me.members[radio].backend, nil)
            }
        }
        for radio in members.indices {
            guard await uses(id, radio) else { continue }
            return try await work(members[radio].backend, id)
        }
        var failure: BLEError?
        for member in members where member.state != nil {
            do throws(BLEError) {
                return try await work(member.backend, id)
            } catch {
                guard [.adapterNotFound, .notSupported].contains(error.code) else { throw error }
                if failure?.code != .adapterNotFound { failure = error }
            }
        }
        if let failure { throw failure }
    }
}
