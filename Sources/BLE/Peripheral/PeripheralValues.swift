internal import Logging

/// The values of a peripheral that were declared, kept up to date for as long as this object lives.
///
/// ```swift
/// let values = try await strap.values([.readAndNotify(.batteryLevel), .read(.manufacturerName)])
/// print(try values.value(of: .manufacturerName) ?? "?")
/// for try await change in values.changes(of: .batteryLevel) { print(change.old ?? 0, change.new ?? 0) }
/// ```
///
/// On each link the declared notifications are switched on and the declared values read; then the peripheral is *ready*. When the
/// link ends, no value is known any more. Whether it is made anew by itself is said by the ``ConnectionPolicy``.
public final class PeripheralValues: Sendable {
    /// Whose values.
    public let peripheral: Peripheral
    private let store: ValueStore
    private let upkeep: Task<Void, Never>

    init(of peripheral: Peripheral, declared: [DeclaredValue]?) async {
        self.peripheral = peripheral
        let store = ValueStore()
        self.store = store
        let events = await peripheral.connectionEvents()
        upkeep = Task { await ValueUpkeep(peripheral: peripheral, declared: declared, store: store).run(events) }
    }

    deinit { end() }

    /// Whether the services of the present link are known, the declared notifications on, and the declared values read.
    public var isReady: Bool { store.isReady }

    /// The characteristics that could not be read or subscribed to on the present link, with the reason; among them those that
    /// the peripheral does not have (`characteristicNotFound`, `serviceNotFound`).
    public var failures: [AttributeKey: BLEError] { store.failures }

    /// Returns when the peripheral is ready; connects when there is no link.
    ///
    /// Throws what connecting throws, and `disconnected` when the link ends first and none follows by itself.
    ///
    /// - Parameter timeout: the longest wait; nil for the configuration's connect timeout.
    public func ready(timeout: Duration? = nil) async throws {
        let central = peripheral.central
        try await central.withDeadline(timeout ?? central.configuration.connectTimeout) { [store, peripheral] in
            try await peripheral.connect(timeout: .seconds(86400))
            try await store.untilReady()
        }
    }

    /// The newest value; nil while none is known. Throws `invalidValue` when the type cannot be made of it.
    public func value<Value>(of characteristic: Characteristic<Value>) throws(BLEError) -> Value? {
        guard let bytes = store.value(characteristic.key) else { return nil }
        return try characteristic.decode(bytes, from: peripheral.id)
    }

    /// The newest value in bytes; nil while none is known.
    public subscript(key: AttributeKey) -> [UInt8]? { store.value(key) }

    /// Each value that arrives from here on, with the one before, and nil at the end of a link. Keeps the newest 64 changes.
    ///
    /// - Parameter initial: begin with the value now, if one is known.
    public func changes<Value>(of characteristic: Characteristic<Value>, initial: Bool = true) -> ValueChanges<Value> {
        ValueChanges(
            changes: store.changes(of: characteristic.key, initial: initial),
            decode: characteristic.decoder(for: peripheral.id))
    }

    /// Ends the upkeep and the streams of changes. The link stays as the policy says.
    public func end() {
        upkeep.cancel()
        store.finish(.cancelled)
    }
}

extension Peripheral {
    /// Connects and keeps the declared values up to date from now on; returns when the peripheral is ready.
    ///
    /// A characteristic that is missing, or refuses, does not fail the others; see ``PeripheralValues/failures``.
    ///
    /// - Parameter timeout: the longest that all of it may take; nil for the configuration's connect timeout.
    public func values(_ declared: [DeclaredValue], timeout: Duration? = nil) async throws -> PeripheralValues {
        let values = await PeripheralValues(of: self, declared: declared)
        try await values.ready(timeout: timeout)
        return values
    }

    /// Connects, reads everything that can be read, and does so anew on each further link; returns when the peripheral is ready.
    ///
    /// The values are found under their exact keys, ``GATTCharacteristic/key``.
    public func readableValues(timeout: Duration? = nil) async throws -> PeripheralValues {
        let values = await PeripheralValues(of: self, declared: nil)
        try await values.ready(timeout: timeout)
        return values
    }
}

/// Makes each link ready and listens over it.
private struct ValueUpkeep {
    let peripheral: Peripheral
    /// nil: everything that can be read.
    let declared: [DeclaredValue]?
    let store: ValueStore

    func run(_ events: BoundedStream<ConnectionEvent>) async {
        await withDiscardingTaskGroup { group in
            do throws(BLEError) {
                if await peripheral.connectionState == .connected { await makeReady(&group) }
                for try await event in events {
                    switch event {
                    case .connected, .servicesChanged: await makeReady(&group)
                    case .disconnected(let error), .connectFailed(let error, _):
                        let isMaintained = await isMaintained
                        if !isMaintained { store.releaseReaders() }
                        store.linkEnded(error, isMaintained: isMaintained)
                    case .connecting: break
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
            let declared = declared ?? DeclaredValue.everyReadable(of: database)
            for value in declared where value.isNotified { try await listen(to: value, &group) }
            for value in declared where value.isRead { try await read(value.key) }
            store.becomeReady()
        } catch {
            // The end of the link comes as an event, too, and says whether to wait for another.
            if !Self.endsLink(error) { store.fail(error) }
            peripheral.central.configuration.logger.debug(
                "not ready", metadata: ["peripheral": "\(peripheral.id)", "error": "\(error)"])
        }
    }

    private func listen(to value: DeclaredValue, _ group: inout DiscardingTaskGroup) async throws(BLEError) {
        let key = value.key
        // A stream that has outlasted the gap goes on.
        guard let reader = store.becomeReader(of: key) else { return }
        do throws(BLEError) {
            let stream = try await peripheral.notifications(key)
            group.addTask { [store] in
                // The reason comes as an event too.
                do {
                    for try await event in stream.events {
                        switch event {
                        case .value(let value): store.notified(value, for: key, reader)
                        case .gap:
                            store.forget(key)
                            // A gap that is heard of late may have hidden what was read on the new link.
                            if value.isRead, store.isReady { try? await read(key) }
                        }
                    }
                } catch {}
                store.stopReading(key, reader)
            }
        } catch {
            store.stopReading(key, reader)
            try note(error, for: key)
        }
    }

    private func read(_ key: AttributeKey) async throws(BLEError) {
        do throws(BLEError) {
            let notifications = store.notifications(of: key)
            store.read(try await peripheral.read(key), for: key, since: notifications)
        } catch {
            try note(error, for: key)
        }
    }

    private static func endsLink(_ error: BLEError) -> Bool {
        [.disconnected, .bluetoothLost, .shutDown, .cancelled].contains(error.code)
    }

    /// What concerns the link ends the preparation; what concerns one characteristic is kept beside it.
    private func note(_ error: BLEError, for key: AttributeKey) throws(BLEError) {
        if Self.endsLink(error) { throw error }
        store.failed(error, for: key)
    }
}
