import Testing
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
        let sleepers = clock.sleeperCount
        let grip = await radio.add(definition)
        let peripheral = try await central.find(grip.id)
        // A scan that begins before the last is over hears nothing new before time passes.
        await until { clock.sleeperCount <= sleepers }
        return (peripheral, grip)
    }

    /// Runs `body` while time passes, a tenth of a second at a time.
    public func asTimePasses<Value>(
        isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Value
    ) async rethrows -> Value {
        let moving = Task { [clock] in
            while !Task.isCancelled {
                clock.advance(by: .milliseconds(100))
                await Task.yield()
            }
        }
        defer { moving.cancel() }
        return try await body()
    }
}
