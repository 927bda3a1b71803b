internal import BLE
internal import BLESimulation
import Synchronization

/// What has been replayed of a peripheral so far: its handlers take their outcomes from here.
final class Replay: Sendable {
    private struct State {
        var counts: [ReplayedPeripheral.Place: [Kind: Int]] = [:]
        /// The last value that was read, by place.
        var values: [ReplayedPeripheral.Place: [UInt8]] = [:]
        var links = 0
        var channels: [Int: Int] = [:]

        mutating func next(_ kind: Kind, _ place: ReplayedPeripheral.Place) -> Int {
            defer { counts[place, default: [:]][kind, default: 0] += 1 }
            return counts[place]?[kind] ?? 0
        }
    }

    private enum Kind { case read, write, subscribe }

    let recorded: ReplayedPeripheral
    private let clock: any Clock<Duration>
    private let state = Mutex(State())

    init(_ recorded: ReplayedPeripheral, _ clock: any Clock<Duration>) {
        self.recorded = recorded
        self.clock = clock
    }

    // MARK: Definition

    var definition: PeripheralDefinition {
        var definition = PeripheralDefinition(
            address: recorded.id.rawValue, advertisement: recorded.advertisement,
            // What it advertises is replaced whenever it was heard.
            advertisingInterval: .seconds(86_400), services: services(of: recorded.links.first?.database ?? 0))
        if let length = recorded.attMTU { definition.maximumATTMTU = length }
        definition.channels = recorded.channels.sorted { $0.key < $1.key }.compactMap { number, channels in
            UInt16(exactly: number).map { psm in
                ChannelDefinition(
                    PSM(rawValue: psm), maximumReceiveLength: channels.lazy.compactMap(\.maximumLength).first ?? 2048
                ) { try await self.channel(number, $0) }
            }
        }
        return definition
    }

    /// The services at a position of ``ReplayedPeripheral/databases``.
    func services(of position: Int) -> [ServiceDefinition] {
        guard recorded.databases.indices.contains(position) else { return [] }
        let database = recorded.databases[position]
        let types = Dictionary(database.services.map { ($0.handle, $0.uuid) }) { first, _ in first }
        var end = 0
        return database.services.map { service in
            var included: Set<UInt16> = []
            let definition = ServiceDefinition(
                service.uuid, isPrimary: service.isPrimary,
                includes: service.includedHandles.filter { included.insert($0).inserted }.compactMap { types[$0] },
                characteristics: service.characteristics.map { characteristic($0, position) })
            // Their handles are kept where they leave room for the attributes between them.
            guard Int(service.handle) > end else { return definition }
            var fixed = definition
            fixed.handle = service.handle
            guard let handles = fixed.handles, handles.upperBound <= 0xFFFF else { return definition }
            end = handles.upperBound
            return fixed
        }
    }

    private func characteristic(_ found: GATTCharacteristic, _ position: Int) -> CharacteristicDefinition {
        let place = ReplayedPeripheral.Place(database: position, handle: found.handle)
        var definition = CharacteristicDefinition(found.uuid, found.properties.subtracting(.extendedProperties))
        definition.descriptors = found.descriptors.compactMap { descriptor in
            // Those that a peripheral has by itself.
            guard ![BluetoothUUID(0x2900), BluetoothUUID(0x2902)].contains(descriptor.uuid) else { return nil }
            let place = ReplayedPeripheral.Place(database: position, handle: descriptor.handle)
            return DescriptorDefinition(
                descriptor.uuid, isWritable: true,
                onRead: { _ throws(ATTError) in try await self.read(place) },
                onWrite: { _, _ throws(ATTError) in try await self.write(place) })
        }
        definition.onRead = { request throws(ATTError) in
            // A write from an offset asks for the value that it changes, which the recorded peripheral did by itself.
            guard request.writeType == nil else { return self.valueBeforeWrite(place, offset: request.offset) }
            return try await self.read(place)
        }
        definition.onWrite = { _, request throws(ATTError) in
            // Only a write with a response has an outcome.
            if request.writeType != .withoutResponse { try await self.write(place) }
        }
        definition.onSubscribe = { notifier in try await self.subscription(place, notifier) }
        return definition
    }

    // MARK: Handlers

    /// Returns what the next read returned; after the last, its value again.
    private func read(_ place: ReplayedPeripheral.Place) async throws(ATTError) -> [UInt8] {
        let outcomes = recorded.reads[place] ?? []
        let number = state.withLock { $0.next(.read, place) }
        guard outcomes.indices.contains(number) else {
            // What was never read has no value.
            guard let value = state.withLock({ $0.values[place] }) else { throw .unlikelyError }
            return value
        }
        let value = try await wait(for: outcomes[number])
        state.withLock { $0.values[place] = value }
        return value
    }

    /// Returns the last value that was read, long enough for a write from an offset: the recorded outcome decides
    /// whether the write succeeds.
    private func valueBeforeWrite(_ place: ReplayedPeripheral.Place, offset: Int) -> [UInt8] {
        let value = state.withLock { $0.values[place] } ?? []
        return value + [UInt8](repeating: 0, count: max(offset - value.count, 0))
    }

    private func write(_ place: ReplayedPeripheral.Place) async throws(ATTError) {
        let outcomes = recorded.writes[place] ?? []
        let number = state.withLock { $0.next(.write, place) }
        if outcomes.indices.contains(number) { _ = try await wait(for: outcomes[number]) }
    }

    private func subscription(_ place: ReplayedPeripheral.Place, _ notifier: Notifier) async throws {
        let subscriptions = recorded.subscriptions[place] ?? []
        let number = state.withLock { $0.next(.subscribe, place) }
        guard subscriptions.indices.contains(number) else { return }
        let subscription = subscriptions[number]
        // A refusal comes before the handler waits, or the subscription would be accepted.
        if case .failure(let error)? = subscription.outcome?.result {
            // After that one, the central would take the next subscription, too: it says that there is no socket.
            throw error.attError.flatMap { $0 == .requestNotSupported ? nil : $0 } ?? .unlikelyError
        }
        let elapsed = Central.stopwatch(clock)
        for (time, value) in subscription.values {
            try await sleep(until: time, elapsed)
            await notifier.notify(value)
        }
    }

    /// Waits as long as the peripheral took, and answers as it did.
    private func wait(for outcome: ReplayedPeripheral.Outcome) async throws(ATTError) -> [UInt8] {
        let failure: BLEError? = if case .failure(let error) = outcome.result { error } else { nil }
        if let failure, failure.attError == nil,
            [.timedOut, .cancelled, .shutDown, .disconnected, .bluetoothLost].contains(failure.code)
        {
            // There was no answer: the caller, or the end of the link, ends it.
            while !Task.isCancelled { try? await clock.sleep(for: .seconds(86_400)) }
            throw .unlikelyError
        }
        if outcome.delay > .zero { try? await clock.sleep(for: outcome.delay) }
        switch outcome.result {
        case .success(let value): return value
        case .failure(let error): throw error.attError ?? .unlikelyError
        }
    }

    private func channel(_ number: Int, _ channel: L2CAPChannel) async throws {
        let position = state.withLock { state in
            defer { state.channels[number, default: 0] += 1 }
            return state.channels[number] ?? 0
        }
        guard let recorded = recorded.channels[number], recorded.indices.contains(position) else { return }
        try await withThrowingTaskGroup { group in
            // What the program sends is taken, whatever it is.
            group.addTask { for try await _ in channel.packets {} }
            group.addTask {
                let elapsed = Central.stopwatch(self.clock)
                for (time, value) in recorded[position].packets {
                    try await self.sleep(until: time, elapsed)
                    try await channel.send(value)
                }
                // Without an end, it lasts as long as the program wants.
                try await self.sleep(until: recorded[position].end ?? .seconds(86_400 * 365), elapsed)
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    // MARK: Links

    /// What happens on the next link by itself.
    func link(_ peripheral: SimulatedPeripheral) async {
        let number = state.withLock { state in
            defer { state.links += 1 }
            return state.links
        }
        guard recorded.links.indices.contains(number) else { return }
        let elapsed = Central.stopwatch(clock)
        var present = recorded.links[number].database
        for (time, event) in recorded.links[number].events {
            guard (try? await sleep(until: time, elapsed)) != nil else { break }
            switch event {
            case .ended(let error): await peripheral.endLinks(error)
            case .servicesChanged(let position):
                guard recorded.databases.indices.contains(position) else { break }
                present = position
                await peripheral.setServices(services(of: position))
            }
        }
        while !Task.isCancelled { try? await clock.sleep(for: .seconds(86_400)) }
        // The link has ended. The next one has the services that it had.
        guard recorded.links.indices.contains(number + 1) else { return }
        let next = recorded.links[number + 1].database
        if next != present, recorded.databases.indices.contains(next) {
            await peripheral.setServices(services(of: next))
        }
    }

    private func sleep(until time: Duration, _ elapsed: () -> Duration) async throws {
        let rest = time - elapsed()
        if rest > .zero { try await clock.sleep(for: rest) }
        try Task.checkCancellation()
    }
}
