public import BLE
public import Observation
internal import Synchronization

/// The connection and the declared values of a peripheral, as observable properties.
///
/// ```swift
/// let strap = await ObservablePeripheral(peripheral, values: [.readAndNotify(.batteryLevel)])
/// let updates = Task { try await strap.run() }
/// print(await strap.connectionState == .connected, try await strap.value(of: .batteryLevel) ?? 0)
/// ```
///
/// No values are known before ``run()`` is called and after it has ended. A change of a value notifies only the
/// observers of that value.
@MainActor @Observable public final class ObservablePeripheral: Identifiable {
    /// The peripheral.
    public nonisolated let peripheral: Peripheral
    /// The state of the connection. Nil while ``run()`` does not run.
    public private(set) var connectionState: ConnectionState?
    /// Why there is no link: the error of the last attempt to connect, or the reason for which the last link has ended.
    /// Nil while there is a link, before anything has happened, and while ``run()`` does not run.
    public private(set) var connectionError: BLEError?

    private let declared: [DeclaredValue]
    private let values: [CharacteristicKey: ObservableBytes]
    private let interval: Duration
    private let turns = RunTurns()

    /// The peripheral's id.
    public nonisolated var id: Peripheral.ID { peripheral.id }

    /// Creates an object without a state and values yet.
    ///
    /// - Parameters:
    ///   - declared: the values to keep up to date. Without any, ``run()`` does not connect.
    ///   - interval: the minimum time between two changes, on the clock of the central's configuration. If several
    ///     values arrive meanwhile, the last one is shown.
    public init(
        _ peripheral: Peripheral, values declared: [DeclaredValue] = [], interval: Duration = .milliseconds(100)
    ) {
        self.peripheral = peripheral
        self.declared = declared
        self.interval = interval
        values = Dictionary(declared.map { ($0.key, ObservableBytes()) }) { first, _ in first }
    }

    /// The latest value. Nil if none is known, unless ``connectionState`` is connected, or if the value is not
    /// declared. Throws `invalidValue` if the value cannot be decoded.
    public func value<Value>(of characteristic: Characteristic<Value>) throws(BLEError) -> Value? {
        guard let bytes = values[characteristic.key]?.bytes else { return nil }
        return try characteristic.decode(bytes, from: id)
    }

    /// Connects and keeps state and values up to date until the task is cancelled, which throws `cancelled`. The
    /// connection policy determines how long the link stays.
    ///
    /// Throws the same errors as `Peripheral.values(_:timeout:)`, and `shutDown` with the central. After the end of a
    /// link, this method waits for the next link. A call during another one waits for its end.
    public func run() async throws {
        try await turns.begin()
        defer {
            forget()
            turns.end()
        }
        let latest = Latest()
        let (changes, change) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [peripheral] in
                defer { change.finish() }
                for try await state in await peripheral.connectionStates() {
                    latest.content.withLock { $0.state = state }
                    change.yield()
                }
            }
            group.addTask { [peripheral] in
                defer { change.finish() }
                for try await event in await peripheral.connectionEvents() {
                    guard let error = Self.error(after: event) else { continue }
                    latest.content.withLock { $0.error = error }
                    change.yield()
                }
            }
            if !declared.isEmpty {
                group.addTask { [peripheral, declared] in
                    defer { change.finish() }
                    let values = try await peripheral.values(declared)
                    latest.content.withLock { $0.values = values }
                    change.yield()
                    for try await _ in values.changes() { change.yield() }
                }
            }
            for await _ in changes {
                show(latest)
                try? await peripheral.central.configuration.clock.sleep(for: interval)
            }
            group.cancelAll()
            try await group.waitForAll()
        }
    }

    /// Returns what is known about the error after an event: the error, or nil for none. Nil if the event does not
    /// change that.
    private nonisolated static func error(after event: ConnectionEvent) -> BLEError?? {
        switch event {
        case .connected: .some(nil)
        case .connectFailed(let error, _), .waiting(let error), .disconnected(let error), .disconnectFailed(let error):
            error
        case .connecting, .servicesChanged: nil
        }
    }

    private func forget() {
        connectionState = nil
        if connectionError != nil { connectionError = nil }
        for value in values.values where value.bytes != nil { value.bytes = nil }
    }

    private func show(_ latest: Latest) {
        let (state, current, lastError) = latest.content.withLock { $0 }
        // The end of a link reaches each of the streams at another time.
        let isConnected = state == .connected
        let error = isConnected ? nil : lastError
        if state != connectionState { connectionState = state }
        let isSame = error?.code == connectionError?.code && error?.message == connectionError?.message
        if !isSame { connectionError = error }
        for (key, value) in values {
            let bytes = isConnected ? current?[key] : nil
            if value.bytes != bytes { value.bytes = bytes }
        }
    }
}

/// A value that is observed independently of the others.
@MainActor @Observable private final class ObservableBytes {
    var bytes: [UInt8]?
}

/// The last elements of a peripheral's streams.
private final class Latest: Sendable {
    let content = Mutex<(state: ConnectionState?, values: PeripheralValues?, error: BLEError?)>((nil, nil, nil))
}
