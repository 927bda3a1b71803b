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
                if let notes = await RadioNotes(central, self.note) {
                    group.addTask {
                        var notes = notes
                        try await notes.follow()
                    }
                }
                for device in self.list.all where device.hasLink {
                    if case .address(let id) = device.match {
                        group.addTask { try await self.followWhileAllowed(central.peripheral(id), device) }
                    } else if let places = self.places[device.key] {
                        group.addTask { try await self.follow(every: device, places, central) }
                    }
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
        // What is known of a peripheral changes with a link: bluetoothd adds the services that it discovers.
        let known = state.withLock { $0.table.entry(of: peripheral) }
        guard let device = known ?? list.entry(of: peripheral, advertisement) else { return }
        publish { $0.hear(peripheral, device, advertisement, at: $1) }
        offer(peripheral, device, rssi: advertisement.rssi)
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
    func noteBond(of peripheral: Peripheral) async {
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
                // What a device lacks, it also lacks on the next link.
                try await self.takeValues(of: peripheral, device) { self.noteOnce($0, of: device) }
            }
            try await group.waitForAll()
        }
    }

    /// Publishes the values of a link, and of later ones, until the task is cancelled.
    ///
    /// - Parameters:
    ///   - noteOnce: is told what is wrong, again and again.
    ///   - taken: is called after each value.
    func takeValues(
        of peripheral: Peripheral, _ device: ListedDevice, noteOnce: (String) -> Void, taken: () -> Void = {}
    ) async throws {
        while true {
            do {
                let values = try await peripheral.values(try await device.declaredValues(of: peripheral, noteOnce))
                await learnName(of: peripheral, device)
                for (key, error) in values.failures where values[key] == nil {
                    noteOnce("\(key.characteristic): \(error.message)")
                }
                for try await change in values.changes() {
                    guard let value = change.new else { continue }
                    let fields = device.fields(of: value, change.key)
                    publish { $0.take(fields, from: peripheral.id, device, at: $1) }
                    taken()
                }
            } catch {
                guard !Task.isCancelled else { throw error }
                noteOnce((error as? BLEError)?.message ?? "\(error)")
            }
            try await clock.sleep(for: Self.retryPause)
        }
    }

    private static let deviceName = CharacteristicKey(
        service: BluetoothUUID(0x1800), characteristic: BluetoothUUID(0x2A00))

    /// Reads the name of a peripheral that was not heard to advertise one: with a link, it does not advertise.
    private func learnName(of peripheral: Peripheral, _ device: ListedDevice) async {
        guard state.withLock({ $0.table.isUnnamed(device.topic(of: peripheral.id)) }),
            let bytes = try? await peripheral.readBytes(of: Self.deviceName)
        else { return }
        publish { $0.setName(String(decoding: bytes, as: UTF8.self), of: peripheral.id, device, at: $1) }
    }
}
