public import BLE
public import BLESimulation
internal import Logging
internal import Testing

/// A simulated radio on a clock that the test moves, and a central on it.
///
/// ```swift
/// @Test func `a strap is connected to again`() async throws {
///     let world = try await SimulatedWorld()
///     let (peripheral, strap) = try await world.add(.heartRateStrap(beatsPerMinute: 72))
///     try await peripheral.setConnectionPolicy(.maintained())
///     await strap.dropLink()
///     await world.clock.run(for: .seconds(1))
///     #expect(await strap.isConnected)
/// }
/// ```
public struct SimulatedWorld: Sendable {
    /// The time of the radio and of the central.
    public let clock = ManualClock()
    /// The radio.
    public let radio: SimulatedRadio
    /// A central on the radio, which logs nothing.
    public let central: Central

    /// Creates a radio without peripherals.
    ///
    /// - Parameters:
    ///   - adapters: the number of adapters of the system, at least 1. With more, the central uses all of them as its
    ///     radios, `hci0`, `hci1` and so on.
    ///   - pairing: how the central pairs.
    ///   - log: records what happens on the radio.
    ///   - logsEvents: whether it records each event, not only links, adapters and the faults that a test causes.
    public init(
        adapters: Int = 1, pairing: PairingBehavior = .justWorks, log: LogRecords? = nil, logsEvents: Bool = true
    ) async throws(BLEError) {
        radio =
            if let log { SimulatedRadio(clock: clock, logger: log.logger(logsEvents ? .trace : .debug)) } else {
                SimulatedRadio(clock: clock)
            }
        guard adapters > 1 else {
            central = try await Self.central(on: radio, clock, adapter: nil, pairing)
            return
        }
        let names = (0..<adapters).map { "hci\($0)" }
        for name in names.dropFirst() { await radio.addAdapter(name) }
        central = try await Central(
            radios: names.map { [radio] in .simulated(radio, adapter: $0) },
            configuration: Self.configuration(clock, pairing))
    }

    private static func configuration(_ clock: ManualClock, _ pairing: PairingBehavior) -> Central.Configuration {
        Central.Configuration(clock: clock, logger: silent, pairing: pairing)
    }

    private static func central(
        on radio: SimulatedRadio, _ clock: ManualClock, adapter: String?, _ pairing: PairingBehavior
    ) async throws(BLEError) -> Central {
        try await Central(
            backend: .simulated(radio, adapter: adapter),
            configuration: configuration(clock, pairing))
    }

    private static var silent: Logger { Logger(label: "test") { _ in SwiftLogNoOpLogHandler() } }

    /// Creates another central on the radio, as that of a second program, or of another phone. It logs nothing. The
    /// test shuts it down.
    ///
    /// A host sees each central as another device. Peripherals see those of one adapter as one.
    ///
    /// - Parameters:
    ///   - adapter: the central's adapter, such as `hci1`, which `SimulatedRadio.addAdapter(_:)` adds. By default, the
    ///     first that is switched on.
    ///   - pairing: how the central pairs.
    public func makeCentral(
        adapter: String? = nil, pairing: PairingBehavior = .justWorks
    ) async throws(BLEError) -> Central {
        try await Self.central(on: radio, clock, adapter: adapter, pairing)
    }

    /// Creates a host on the radio, whose peripheral the centrals find. It logs nothing. The test shuts it down.
    ///
    /// Its advertisements need time to pass: begin to search, and then move the ``clock``.
    ///
    /// - Parameter adapter: the host's adapter. By default, the first that is switched on.
    public func makeHost(adapter: String? = nil) async throws(BLEError) -> PeripheralHost {
        try await PeripheralHost(
            backend: .simulated(radio, adapter: adapter),
            configuration: PeripheralHost.Configuration(clock: clock, logger: Self.silent))
    }

    /// Adds a peripheral that the central has discovered. Returns it as the program sees it, and the handle with which
    /// the test controls it. Not while the central scans: then add it to the ``radio``, and let time pass.
    public func add(
        _ definition: PeripheralDefinition, pairing: SimulatedPairing = .justWorks
    ) async throws(BLEError) -> (peripheral: Peripheral, grip: SimulatedPeripheral) {
        let states = await central.isScanning ? nil : await central.scanningStates()
        let grip = await radio.add(definition, pairing: pairing)
        for try await found in central.discoveries() where found.peripheral.id == grip.id { break }
        // A scan that begins before the last one has ended discovers nothing new until time passes.
        if let states {
            var hasScanned = false
            for try await isScanning in states where isScanning != hasScanned {
                if hasScanned { break }
                hasScanned = true
            }
        }
        return (central.peripheral(grip.id), grip)
    }

    /// Runs `body` among the steps of the radio, so that the test takes the same course each time; see
    /// `SimulatedRadio.run(_:)`. A body that is isolated to an actor, such as the main one, stays there.
    public func run<Value: Sendable>(_ body: () async throws -> Value) async rethrows -> Value {
        try await radio.run(body)
    }
}
