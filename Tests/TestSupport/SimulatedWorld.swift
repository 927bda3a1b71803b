public import BLE
public import BLESimulation

/// A simulated radio on a clock that the test moves, and a central on it.
public struct SimulatedWorld: Sendable {
    public let clock = ManualClock()
    public let radio: SimulatedRadio
    public let central: Central

    public init() async throws {
        radio = SimulatedRadio(clock: clock)
        central = try await Central(backend: .simulated(radio), configuration: .quiet(clock: clock))
    }

    /// A peripheral that the central has heard, and the grip on it.
    public func add(
        _ definition: PeripheralDefinition
    ) async throws -> (peripheral: Peripheral, grip: SimulatedPeripheral) {
        let grip = await radio.add(definition)
        return (try await central.find(grip.id), grip)
    }
}
