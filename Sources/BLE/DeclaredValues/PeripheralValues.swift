internal import Logging
internal import Waiting

/// The declared values of a peripheral, kept up to date for the lifetime of this object.
///
/// ```swift
/// let values = try await strap.values([.readAndNotify(.batteryLevel), .read(.manufacturerName)])
/// print(try values.value(of: .manufacturerName) ?? "?")
/// for try await change in values.changes(of: .batteryLevel) { print(change.old ?? 0, change.new ?? 0) }
/// ```
///
/// On each link, the declared notifications are switched on and the declared values are read; then the peripheral is
/// *ready*. When the link ends, all values become unknown. The ``ConnectionPolicy`` determines whether the link is
/// reestablished automatically.
public final class PeripheralValues: Sendable {
    /// The peripheral that the values belong to.
    public let peripheral: Peripheral
    private let store: ValueStore
    private let upkeep: Task<Void, Never>

    init(of peripheral: Peripheral, declared: [DeclaredValue]?) async {
        self.peripheral = peripheral
        let store = ValueStore()
        self.store = store
        let (events, hasLink) = await peripheral.central.connectionFromNow(peripheral.id)
        upkeep = Task {
            await ValueUpdater(peripheral: peripheral, declared: declared, store: store).run(events, hasLink: hasLink)
        }
    }

    deinit { end() }

    /// Whether the services of the current link are discovered, the declared notifications on, and the declared values
    /// read.
    public var isReady: Bool { store.isReady }

    /// The characteristics that could not be read or subscribed to on the current link, with their errors. They include
    /// characteristics that the peripheral does not have (`characteristicNotFound`, `serviceNotFound`).
    public var failures: [CharacteristicKey: BLEError] { store.failures }

    /// Waits until the peripheral is ready, connecting if there is no link.
    ///
    /// Throws the errors of connecting, and `disconnected` if the link ends first and is not reestablished
    /// automatically.
    ///
    /// - Parameter timeout: the maximum wait. Nil for the configuration's connect timeout or, on a maintained link, for
    ///   no limit.
    public func waitUntilReady(timeout: Duration? = nil) async throws {
        let central = peripheral.central
        if timeout == nil, case .maintained = await central.policy(peripheral.id) {
            try await central.connectToStay(peripheral.id, timeout: nil, isPatient: true)
            return try await store.untilReady()
        }
        let limit = timeout ?? central.configuration.connectTimeout
        let elapsed = Central.stopwatch(central.clock)
        try await central.connectToStay(peripheral.id, timeout: limit)
        do throws(BLEError) {
            try await Outcome.race(within: max(.zero, limit - elapsed()), clock: central.clock) {
                BLEError(.timedOut, "becoming ready took longer than \(limit)")
            } _: { [store] () throws(BLEError) in
                try await store.untilReady()
            }
        } catch {
            throw error.at(peripheral.id)
        }
    }

    /// The latest value. Nil if none is known. Throws `invalidValue` if it cannot be decoded.
    public func value<Value>(of characteristic: Characteristic<Value>) throws(BLEError) -> Value? {
        guard let bytes = store.value(characteristic.key) else { return nil }
        return try characteristic.decode(bytes, from: peripheral.id)
    }

    /// The latest value as bytes. Nil if none is known.
    public subscript(key: CharacteristicKey) -> [UInt8]? { store.value(key) }

    /// The changes of a value from now on, each with the previous and the new value. At the end of a link, the new
    /// value is nil. Keeps the newest 64 changes.
    ///
    /// - Parameter initial: whether to begin with the current value, if it is known.
    public func changes<Value>(of characteristic: Characteristic<Value>, initial: Bool = true) -> ValueChanges<Value> {
        ValueChanges(
            changes: store.changes(of: characteristic.key, initial: initial),
            decode: characteristic.decoder(for: peripheral.id))
    }

    /// The changes of all declared values from now on, in order. At the end of a link, each value becomes nil. Keeps
    /// the newest 64 changes.
    ///
    /// ```swift
    /// let values = try await strap.values([.readAndNotify(.batteryLevel), .notify(.heartRateMeasurement)])
    /// for try await change in values.changes() {
    ///     if let level = try change.change(of: .batteryLevel) { print("battery", level.new ?? 0) }
    ///     if let beat = try change.change(of: .heartRateMeasurement)?.new { print(beat.beatsPerMinute) }
    /// }
    /// ```
    ///
    /// - Parameter initial: whether to begin with the values that are known now, in no particular order.
    public func changes(initial: Bool = true) -> BoundedStream<KeyedValueChange> { store.changes(initial: initial) }

    /// Stops updating the values and ends the streams of changes. The connection policy still determines how long the
    /// link stays.
    public func end() {
        upkeep.cancel()
        store.finish(.cancelled)
    }
}

/// Reads and subscribes to the declared values on each link.
private struct ValueUpdater {
    let peripheral: Peripheral
    /// The declared values. Nil for all readable values.
    let declared: [DeclaredValue]?
    let store: ValueStore

    /// - Parameter hasLink: whether there was a link before the first of the events.
    func run(_ events: BoundedStream<ConnectionEvent>, hasLink: Bool) async {
        await withDiscardingTaskGroup { group in
            do throws(BLEError) {
                if hasLink { await makeReady(&group) }
                for try await event in events {
                    switch event {
                    case .connected, .servicesChanged: await makeReady(&group)
                    case .disconnected(let error), .disconnectFailed(let error), .connectFailed(let error, _):
                        let isMaintained = await isMaintained
                        if !isMaintained { store.releaseReaders() }
                        store.linkEnded(error, isMaintained: isMaintained)
                    case .connecting, .waiting: break
                    }
                }
            } catch {
                store.finish(error)
            }
            group.cancelAll()
        }
    }

    private var isMaintained: Bool {
        get async {
            if case .maintained = await peripheral.connectionPolicy { return true }
            return false
        }
    }

    private func makeReady(_ group: inout DiscardingTaskGroup) async {
        store.begin()
        do throws(BLEError) {
            let database = try await peripheral.services()
            let declared = declared ?? DeclaredValue.allReadable(of: database)
            for value in declared where value.isNotified { try await listen(to: value, &group) }
            for value in declared where value.isRead { try await read(value.key) }
            store.becomeReady()
        } catch {
            // The end of the link also arrives as an event, which shows whether another link follows.
            let isConnected = await peripheral.connectionState == .connected
            if isConnected, !Self.endsLink(error) { store.fail(error) }
            await peripheral.central.report(unhandled: error, while: "reading declared values", of: peripheral.id)
        }
    }

    private func listen(to value: DeclaredValue, _ group: inout DiscardingTaskGroup) async throws(BLEError) {
        let key = value.key
        // A stream that survived the gap continues.
        guard let reader = store.becomeReader(of: key) else { return }
        do throws(BLEError) {
            // Does not wait for a link: the next link starts its own subscriptions.
            let packets = try await peripheral.central.subscribe(
                to: key, of: peripheral.id, overflow: .dropOldest(capacity: 256), timeout: nil
            ).packets
            let stream = NotificationStream<[UInt8]>(packets: packets, decode: { $0 })
            group.addTask { [store] in
                do throws(BLEError) {
                    for try await event in stream.events {
                        switch event {
                        case .value(let value): store.notified(value, for: key, reader)
                        case .gap:
                            // The link's end arrives as an event as well: all values become unknown together.
                            let isConnected = await peripheral.connectionState == .connected
                            guard store.gap(in: key, isConnected: isConnected) else { continue }
                            // A value that was read before the gap may have changed in it.
                            if value.isRead, store.isReady { try? await read(key) }
                        }
                    }
                    store.stopReading(key, reader)
                } catch {
                    // Notifications may end on a link that lasts, too.
                    let isConnected = await peripheral.connectionState == .connected
                    store.stopReading(key, reader, forgetting: isConnected || !Self.endsLink(error))
                }
            }
        } catch {
            store.stopReading(key, reader)
            try note(error, for: key)
        }
    }

    private func read(_ key: CharacteristicKey) async throws(BLEError) {
        do throws(BLEError) {
            let revision = store.revision(of: key)
            store.read(try await peripheral.read(key.bytes), for: key, since: revision)
        } catch {
            try note(error, for: key)
        }
    }

    private static func endsLink(_ error: BLEError) -> Bool {
        [.disconnected, .connectionCancelled, .bluetoothLost, .shutDown, .cancelled].contains(error.code)
    }

    /// Throws an error that concerns the link, and records one that concerns a single characteristic.
    private func note(_ error: BLEError, for key: CharacteristicKey) throws(BLEError) {
        if Self.endsLink(error) { throw error }
        store.failed(error, for: key)
    }
}
