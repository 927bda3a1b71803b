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
    let store: ValueStore
    private let upkeep: Task<Void, Never>

    init(of peripheral: Peripheral, declared: [DeclaredValue]?) async {
        self.peripheral = peripheral
        let store = ValueStore()
        self.store = store
        let events = await peripheral.central.connectionEvents(peripheral.id, for: store)
        upkeep = Task(executorPreference: peripheral.central.taskExecutor) {
            await ValueUpdater(peripheral: peripheral, declared: declared, store: store).run(events)
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
            try await central.connect(peripheral.id, timeout: nil, isPatient: true)
            return try await central.untilReady(store, peripheral.id)
        }
        let limit = timeout ?? central.configuration.connectTimeout
        let elapsed = Central.stopwatch(central.clock)
        try await central.connect(peripheral.id, timeout: limit)
        do throws(BLEError) {
            try await Outcome.race(
                within: max(.zero, limit - elapsed()), clock: central.clock, executor: central.taskExecutor
            ) {
                BLEError(.timedOut, "becoming ready took longer than \(limit)")
            } _: { [store, id = peripheral.id] () throws(BLEError) in
                try await central.untilReady(store, id)
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
struct ValueUpdater {
    let peripheral: Peripheral
    /// The declared values. Nil for all readable values.
    let declared: [DeclaredValue]?
    let store: ValueStore

    /// Events only tell that something has changed: another link may be up by the time they are handled.
    func run(_ events: BoundedStream<ConnectionEvent>) async {
        await withDiscardingTaskGroup { group in
            do throws(BLEError) {
                var link = await present.version
                if let link { await makeReady(link.number, &group) }
                for try await event in events {
                    let (now, last) = await present
                    if now != nil, now == link { continue }
                    if let error = Self.end(of: link, event, now) {
                        if last != nil { store.releaseReaders() }
                        // Callers wait for the link that is up, and for one that has come up meanwhile.
                        store.linkEnded(error, failingThrough: now == nil ? last : nil)
                        link = nil
                    }
                    if let now {
                        await makeReady(now.number, &group)
                        link = now
                    }
                }
            } catch {
                store.finish(error)
            }
            group.cancelAll()
        }
    }

    /// Returns why the link, or the attempt to make one, has ended by the time of an event. Nil if it has not, or if
    /// another event will tell.
    private static func end(of link: LinkVersion?, _ event: ConnectionEvent, _ now: LinkVersion?) -> BLEError? {
        let error: BLEError? =
            switch event {
            case .disconnected(let error), .disconnectFailed(let error), .connectFailed(let error, _): error
            case .connecting, .connected, .servicesChanged, .waiting: nil
            }
        if now == nil { return error }
        return link == nil || link?.number == now?.number
            ? nil : error ?? BLEError(.disconnected, "the link ended", disconnectReason: .unknown)
    }

    private var present: (version: LinkVersion?, last: Int?) {
        get async { await peripheral.central.linkVersion(peripheral.id) }
    }

    private func makeReady(_ link: Int, _ group: inout DiscardingTaskGroup) async {
        store.begin(link)
        do throws(BLEError) {
            let database = try await onLink(link) { (central, id) throws(BLEError) in try await central.services(id) }
            let declared = declared ?? DeclaredValue.allReadable(of: database)
            for value in declared where value.isNotified { try await listen(to: value, link, &group) }
            let keys = declared.filter(\.isRead).map(\.key)
            for key in keys { try await read(key, link) }
            while let key = store.becomeReady(having: keys) { try await read(key, link) }
        } catch {
            // The end of the link also arrives as an event, which shows whether another link follows.
            let isConnected = await peripheral.connectionState == .connected
            if isConnected, !Self.endsLink(error) { store.fail(error) }
            await peripheral.central.report(unhandled: error, while: "reading declared values", of: peripheral.id)
        }
    }

    /// Performs work that must not wait for another link than that with the number.
    private func onLink<Value: Sendable>(
        _ link: Int, _ work: @Sendable (isolated Central, Peripheral.ID) async throws(BLEError) -> Value
    ) async throws(BLEError) -> Value {
        try await peripheral.central.onLink(link, of: peripheral.id, work)
    }

    private func listen(
        to value: DeclaredValue, _ link: Int, _ group: inout DiscardingTaskGroup
    ) async throws(BLEError) {
        let key = value.key
        // A stream that survived the gap continues.
        guard let reader = store.becomeReader(of: key) else { return }
        do throws(BLEError) {
            // Does not wait for a link: the next link starts its own subscriptions.
            let packets = try await onLink(link) { (central, id) throws(BLEError) in
                try await central.subscribe(to: key, of: id, overflow: .dropOldest(capacity: 256), timeout: nil)
            }.packets
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
                            guard value.isRead, store.isReady, let link = await present.version else { continue }
                            try? await read(key, link.number)
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

    private func read(_ key: CharacteristicKey, _ link: Int) async throws(BLEError) {
        do throws(BLEError) {
            let revision = store.revision(of: key)
            let value = try await onLink(link) { (central, id) throws(BLEError) in
                try await central.read(key, of: id, timeout: nil)
            }
            store.read(value, for: key, since: revision)
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
