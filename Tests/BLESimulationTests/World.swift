import BLE
import BLESimulation
import Logging

/// A simulated radio on a clock that the test moves, and a central on it.
struct World {
    let clock = ManualClock()
    let radio: SimulatedRadio
    let central: Central

    init() async throws {
        radio = SimulatedRadio(clock: clock)
        let configuration = Central.Configuration(
            clock: clock, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        central = try await Central(backend: .simulated(radio), configuration: configuration)
    }

    /// A peripheral that the central has heard, and the grip on it.
    func add(_ definition: PeripheralDefinition) async throws -> (peripheral: Peripheral, grip: SimulatedPeripheral) {
        let grip = await radio.add(definition)
        for try await discovery in central.discoveries() where discovery.peripheral.id == grip.id {
            return (discovery.peripheral, grip)
        }
        throw BLEError(.peripheralNotFound, "the scan ended")
    }
}
