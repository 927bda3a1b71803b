import BLE
import Synchronization

/// What a gateway does with Bluetooth: the scan, and the links to devices with values.
extension Gateway {
    func followBluetooth(_ open: @Sendable () async throws -> Central) async throws {
        let central = try await open()
        state.withLock { $0.central = central }
        do {
            try await withThrowingTaskGroup { group in
                group.addTask { try await self.scan(central) }
                for device in self.list.all where device.hasLink {
                    guard case .address(let id) = device.match else { continue }
                    group.addTask { try await self.followWhileAllowed(central.peripheral(id), device) }
                }
                try await group.waitForAll()
            }
        } catch {
            await Task { await central.shutDown() }.value
            throw error
        }
    }

    private func scan(_ central: Central) async throws {
        let events = central.discoveryEvents(duplicates: true, staleAfter: nil, tolerance: .milliseconds(100))
        while true {
            do throws(BLEError) {
                for try await event in events {
                    switch event {
                    case .found(let found), .updated(let found): hear(found.id, found.advertisement)
                    case .waiting(let error): note("waiting: \(error.message)")
                    case .lost: break
                    }
                }
            } catch {
                guard !Task.isCancelled, error.code != .unauthorized else { throw error }
                note("the scan ended: \(error.message)")
            }
            try await clock.sleep(for: Self.retryPause)
        }
    }

    /// Takes an advertisement.
    func hear(_ peripheral: Peripheral.ID, _ advertisement: Advertisement) {
        guard let device = list.entry(of: peripheral, advertisement) else { return }
        publish { $0.hear(peripheral, device, advertisement, at: $1) }
    }

    /// Whether this gateway publishes a device.
    func publishes(_ device: String) -> Bool { state.withLock { $0.table.isPublished(device) } }

    /// The pause before something is tried again that the library does not try again itself.
    private static let retryPause: Duration = .seconds(5)

    /// Maintains a link, in a fleet only while this gateway owns the device.
    private func followWhileAllowed(_ peripheral: Peripheral, _ device: ListedDevice) async throws {
        guard configuration.isFleet else { return try await follow(peripheral, device) }
        let id = GatewayTopics.device(peripheral.id)
        let (changes, continuation) = AsyncStream.makeStream(of: Bool.self, bufferingPolicy: .bufferingNewest(1))
        state.withLock { state in
            state.links[id] = continuation
            continuation.yield(state.table.mayLink(id, at: elapsed()))
        }
        await noteBond(of: peripheral)
        for await isAllowed in changes where isAllowed {
            try await withThrowingTaskGroup { group in
                group.addTask { try await self.follow(peripheral, device) }
                group.addTask { for await isAllowed in changes where !isAllowed { return } }
                defer { group.cancelAll() }
                try await group.next()
            }
            try Task.checkCancellation()
            try await peripheral.setConnectionPolicy(.manual)
            do {
                try await peripheral.disconnect()
            } catch {
                note("\(device.key): the link for another gateway could not be ended: \(error.message)")
            }
            publish { $0.setConnected(false, peripheral.id, device, at: $1) }
        }
        try Task.checkCancellation()
    }

    /// A gateway whose machine is bonded with a device is preferred.
    private func noteBond(of peripheral: Peripheral) async {
        guard configuration.isFleet, let isPaired = try? await peripheral.isPaired else { return }
        state.withLock { $0.table.setBonded(isPaired, peripheral.id) }
    }

    /// Maintains a link, and publishes its values.
    private func follow(_ peripheral: Peripheral, _ device: ListedDevice) async throws {
        try await peripheral.setConnectionPolicy(.maintained())
        try await withThrowingTaskGroup { group in
            group.addTask {
                for try await state in await peripheral.connectionStates() {
                    let isConnected = state == .connected
                    self.publish { $0.setConnected(isConnected, peripheral.id, device, at: $1) }
                    if isConnected { await self.noteBond(of: peripheral) }
                }
            }
            group.addTask {
                var told = ToldTexts()
                // What a device lacks, it also lacks on the next link.
                func noteOnce(_ text: String) {
                    if told.insert(text, at: self.elapsed()) { self.note("\(device.key.excerpt): \(text)") }
                }
                while true {
                    do {
                        let values = try await peripheral.values(
                            try await device.declaredValues(of: peripheral, noteOnce))
                        for (key, error) in values.failures where values[key] == nil {
                            noteOnce("\(key.characteristic): \(error.message)")
                        }
                        for try await change in values.changes() {
                            guard let value = change.new else { continue }
                            let fields = device.fields(of: value, change.key)
                            self.publish { $0.take(fields, from: peripheral.id, device, at: $1) }
                        }
                    } catch {
                        guard !Task.isCancelled else { throw error }
                        noteOnce((error as? BLEError)?.message ?? "\(error)")
                    }
                    try await self.clock.sleep(for: Self.retryPause)
                }
            }
            try await group.waitForAll()
        }
    }
}
