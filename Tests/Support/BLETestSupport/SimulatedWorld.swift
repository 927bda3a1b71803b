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

    /// Runs `body` while time passes, a tenth of a second at a time, as long as something sleeps that does not sleep longer than
    /// `longest`.
    ///
    /// So the deadline of a step that is not to end by it does not pass while the step waits for a processor.
    public func asTimePasses<Value>(
        inSleepsOfAtMost longest: Duration = .seconds(5), isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws -> Value
    ) async rethrows -> Value {
        let moving = Task { [clock] in
            while !Task.isCancelled {
                if let remaining = clock.remaining(ofSleepsUpTo: longest) {
                    clock.advance(by: min(remaining, .milliseconds(100)))
                }
                // Whoever waits for a processor gets one.
                try? await Task.sleep(for: .milliseconds(1))
            }
        }
        defer { moving.cancel() }
        return try await body()
    }
}
