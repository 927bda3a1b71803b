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

    private let declared: [DeclaredValue]
    private let values: [CharacteristicKey: ObservableBytes]
    private let interval: Duration
    /// The number of calls of ``run()`` under way.
    @ObservationIgnored private var runCount = 0

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

    /// The latest value. Nil if none is known, for example without a link, or if the value is not declared. Throws
    /// `invalidValue` if the value cannot be decoded.
    public func value<Value>(of characteristic: Characteristic<Value>) throws(BLEError) -> Value? {
        guard let bytes = values[characteristic.key]?.bytes else { return nil }
        return try characteristic.decode(bytes, from: id)
    }

    /// Connects and keeps state and values up to date until the task is cancelled, which throws `cancelled`. The
    /// connection policy determines how long the link stays.
    ///
    /// Throws the same errors as `Peripheral.values(_:timeout:)`, and `shutDown` with the central. After the end of a
    /// link, this method waits for the next link.
    public func run() async throws {
        runCount += 1
        defer {
            runCount -= 1
            if runCount == 0 { forget() }
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

    private func forget() {
        connectionState = nil
        for value in values.values where value.bytes != nil { value.bytes = nil }
    }

    private func show(_ latest: Latest) {
        let (state, current) = latest.content.withLock { ($0.state, $0.values) }
        if state != connectionState { connectionState = state }
        guard let current else { return }
        for (key, value) in values where value.bytes != current[key] { value.bytes = current[key] }
    }
}

/// A value that is observed independently of the others.
@MainActor @Observable private final class ObservableBytes {
    var bytes: [UInt8]?
}

/// The last elements of a peripheral's streams.
private final class Latest: Sendable {
    let content = Mutex<(state: ConnectionState?, values: PeripheralValues?)>((nil, nil))
}
