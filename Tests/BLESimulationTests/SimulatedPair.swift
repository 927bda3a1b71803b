import BLE
import BLESimulation
import BLETestSupport

/// A peripheral that two centrals have discovered.
struct SimulatedPair {
    let world: SimulatedWorld
    let device: SimulatedPeripheral
    let second: Central
    /// The peripheral as each of the two has it.
    let remotes: [Peripheral]

    /// - Parameter adapter: that of the second central. By default, both have the same one.
    init(_ definition: PeripheralDefinition, pairing: SimulatedPairing = .justWorks, adapter: String? = nil)
        async throws
    {
        world = try await SimulatedWorld()
        if let adapter { await world.radio.addAdapter(adapter) }
        let (one, device) = try await world.add(definition, pairing: pairing)
        self.device = device
        second = try await Central(
            backend: .simulated(world.radio, adapter: adapter), configuration: .quiet(clock: world.clock))
        remotes = [one, try await second.find(device.id)]
    }

    func shutDown() async {
        await world.central.shutDown()
        await second.shutDown()
    }
}

extension Result where Failure == any Error {
    init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }

    var failure: (any Error)? {
        if case .failure(let error) = self { error } else { nil }
    }
}
