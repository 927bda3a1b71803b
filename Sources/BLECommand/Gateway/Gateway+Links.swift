import BLE
import Synchronization

/// The links to the peripherals of entries that stand for many.
extension Gateway {
    /// How long a peripheral may be silent before no link to it is tried.
    private static let silence: Duration = .seconds(30)
    /// How long a peripheral with a link may send no value before it gives its place to another one, and how long it
    /// is left alone then.
    private static let patience: Duration = .seconds(60)
    /// A link that ends before this time counts as a failed attempt, whatever was sent on it.
    private static let shortest: Duration = .seconds(30)

    /// Why a link has ended.
    private enum End {
        /// The peripheral, or Bluetooth, has ended it.
        case lost
        /// No value came for long.
        case silent
        /// Another gateway has the device, or this one ends.
        case given
    }

    /// Has links to as many peripherals of an entry as it allows, the strongest first. One that does not accept a link
    /// comes after the others.
    func follow(
        every device: ListedDevice, _ places: AutoConnectorLoop<Peripheral.ID>, _ central: Central
    ) async throws {
        try await places.run(on: central) {
        } connect: { id in
            await self.connect(central.peripheral(id), device, places)
        }
    }

    /// Makes a peripheral that was heard a candidate for a link, if this gateway may have one.
    func offer(_ peripheral: Peripheral.ID, _ device: ListedDevice, rssi: Int?) {
        guard let places = places[device.key] else { return }
        if mayLink(peripheral, device) {
            places.found(peripheral, rssi: rssi)
        } else {
            places.record { $0.lost(peripheral) }
        }
    }

    /// Whether there may be a link to a peripheral of an entry, which was heard lately.
    private func mayLink(_ peripheral: Peripheral.ID, _ entry: ListedDevice) -> Bool {
        let id = entry.topic(of: peripheral)
        return state.withLock { state in
            guard let device = state.table.devices[id], device.entry.key == entry.key else { return false }
            return elapsed() - device.heard < Self.silence && state.table.mayLink(id, at: elapsed())
        }
    }

    private func connect(
        _ peripheral: Peripheral, _ device: ListedDevice, _ places: AutoConnectorLoop<Peripheral.ID>
    ) async {
        let (id, central) = (peripheral.id, peripheral.central)
        guard mayLink(id, device) else {
            // As soon as it is heard, it is a candidate again.
            return places.record { $0.attemptWithdrawn(id) }
        }
        do throws(BLEError) {
            try await peripheral.connect()
        } catch {
            places.record { _ = $0.attemptFailed(id, now: central.elapsed()) }
            return noteOnce(error.message, of: device, id)
        }
        places.record { _ = $0.linkUp(id) }
        let begun = central.elapsed()
        let end = await hold(peripheral, device, places)
        // A link that is to end does not depend on this task, which may be cancelled.
        await Task(executorPreference: central.taskExecutor) { try? await peripheral.disconnect() }.value
        publish { $0.setConnected(false, id, device, at: $1) }
        places.record { connector in
            let now = central.elapsed()
            switch end {
            case .lost: connector.linkEnded(id, isEarly: now - begun < Self.shortest, now: now)
            case .silent:
                connector.release(id, until: now + Self.patience)
                connector.linkEnded(id, isRequested: false)
            case .given: connector.linkEnded(id, isRequested: false)
            }
        }
    }

    /// Publishes the values of a link until it ends, another gateway has the device, no value has come in the first
    /// minute, or none in a later one while others wait for a place.
    private func hold(
        _ peripheral: Peripheral, _ device: ListedDevice, _ places: AutoConnectorLoop<Peripheral.ID>
    ) async -> End {
        let id = device.topic(of: peripheral.id)
        let (changes, continuation) = AsyncStream.makeStream(of: Bool.self, bufferingPolicy: .bufferingNewest(1))
        publish { $0.setConnected(true, peripheral.id, device, at: $1) }
        state.withLock { state in
            state.links[id] = continuation
            continuation.yield(state.table.mayLink(id, at: elapsed()))
        }
        await noteBond(of: peripheral)
        let received = ReceivedValues()
        let end = await withTaskGroup(of: End.self) { group in
            group.addTask {
                let states = await peripheral.connectionStates()
                do { for try await state in states where state != .connected { return .lost } } catch {}
                return .lost
            }
            group.addTask {
                for await isAllowed in changes where !isAllowed { return .given }
                return .given
            }
            group.addTask {
                var before = 0
                while !Task.isCancelled {
                    try? await self.clock.sleep(for: Self.patience)
                    let count = received.count
                    if count == 0 || count == before && places.record({ $0.isAnyWaiting }) { break }
                    before = count
                }
                return .silent
            }
            group.addTask {
                try? await self.takeValues(of: peripheral, device) { text in
                    self.noteOnce(text, of: device, peripheral.id)
                } taken: {
                    _ = received.add()
                }
                return .given
            }
            let first = await group.next()
            group.cancelAll()
            return first ?? .given
        }
        state.withLock { $0.links[id] = nil }
        return Task.isCancelled ? .given : end
    }

    /// Tells what is wrong with a peripheral of an entry, each text once an hour for all of the entry.
    ///
    /// - Parameter peripheral: the one to name. Nil if the entry has only one.
    func noteOnce(_ text: String, of entry: ListedDevice, _ peripheral: Peripheral.ID? = nil) {
        guard !Task.isCancelled else { return }
        // That of each address would be another text.
        let kind = peripheral.map { text.replacing($0.rawValue, with: "") } ?? text
        let (isNew, isLast) = state.withLock { state in
            let isNew = state.told[entry.key, default: ToldTexts()].insert(kind, at: elapsed())
            return (isNew, state.told[entry.key]?.isFull == true)
        }
        guard isNew else { return }
        let prefix = [entry.key.excerpt, peripheral?.rawValue].compactMap { $0 }.joined(separator: ": ")
        note("\(prefix): \(text)")
        if isLast { note("\(entry.key.excerpt): further texts are left out for up to an hour") }
    }
}
