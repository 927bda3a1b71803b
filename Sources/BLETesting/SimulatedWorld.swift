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
    ///   - pairing: how the central pairs.
    ///   - log: records what happens on the radio.
    ///   - logsEvents: whether it records each event, not only links, adapters and the faults that a test causes.
    public init(
        pairing: PairingBehavior = .justWorks, log: LogRecords? = nil, logsEvents: Bool = true
    ) async throws(BLEError) {
        radio =
            if let log { SimulatedRadio(clock: clock, logger: log.logger(logsEvents ? .trace : .debug)) } else {
                SimulatedRadio(clock: clock)
            }
        central = try await Central(
            backend: .simulated(radio),
            configuration: Central.Configuration(
                clock: clock, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, pairing: pairing))
    }

    /// Adds a peripheral that the central has discovered. Returns it as the program sees it, and the handle with which
    /// the test controls it. Not while the central scans: then add it to the ``radio``, and let time pass.
    public func add(
        _ definition: PeripheralDefinition, pairing: SimulatedPairing = .justWorks
    ) async throws(BLEError) -> (peripheral: Peripheral, grip: SimulatedPeripheral) {
        let sleepers = clock.sleeperCount
        let grip = await radio.add(definition, pairing: pairing)
        for try await found in central.discoveries() where found.peripheral.id == grip.id { break }
        // A scan that begins before the last one has ended discovers nothing new until time passes.
        await until { clock.sleeperCount <= sleepers }
        return (central.peripheral(grip.id), grip)
    }

    /// Runs `body` among the steps of the radio, so that the test takes the same course each time; see
    /// `SimulatedRadio.run(_:)`. A body that is isolated to an actor, such as the main one, stays there.
    public func run<Value: Sendable>(_ body: () async throws -> Value) async rethrows -> Value {
        try await radio.run(body)
    }
}
