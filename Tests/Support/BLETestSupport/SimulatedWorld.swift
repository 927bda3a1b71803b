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

    /// A peripheral that the central has discovered, and the handle that controls it.
    public func add(
        _ definition: PeripheralDefinition
    ) async throws -> (peripheral: Peripheral, grip: SimulatedPeripheral) {
        let sleepers = clock.sleeperCount
        let grip = await radio.add(definition)
        let peripheral = try await central.find(grip.id)
        // A scan that begins before the last one has ended discovers nothing new until time passes.
        await until { clock.sleeperCount <= sleepers }
        return (peripheral, grip)
    }

    /// Runs `body` while time passes, a tenth of a second at a time, as long as a sleep of at most `longest` is
    /// pending.
    ///
    /// So a longer deadline does not pass while a step waits for a processor.
    public func asTimePasses<Value>(
        inSleepsOfAtMost longest: Duration = .seconds(5), isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws -> Value
    ) async rethrows -> Value {
        let moving = Task { [clock] in
            while !Task.isCancelled {
                if let remaining = clock.remaining(ofSleepsUpTo: longest) {
                    clock.advance(by: min(remaining, .milliseconds(100)))
                }
                // Tasks that wait for a processor get one.
                try? await Task.sleep(for: .milliseconds(1))
            }
        }
        defer { moving.cancel() }
        return try await body()
    }
}
