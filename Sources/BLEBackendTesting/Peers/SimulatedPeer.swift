package import BLE
package import BLESimulation

/// The contract's peripheral on a simulated radio.
package struct SimulatedPeer: SimulatedStrapPeer {
    package let strap = SimulatedStrap()
    private let radio: SimulatedRadio
    package let peripheral: SimulatedPeripheral
    private let open: @Sendable (SimulatedBackend, Central.Configuration) async throws -> Central
    package var systemProperties: [String: SystemValue]? { EchoStrap.systemProperties }

    /// - Parameters:
    ///   - clock: that of the radio.
    ///   - open: creates a central on a backend of the radio.
    package init(
        clock: any Clock<Duration> = ContinuousClock(),
        open: @escaping @Sendable (SimulatedBackend, Central.Configuration) async throws -> Central = {
            try await Central(backend: $0, configuration: $1)
        }
    ) async {
        self.open = open
        radio = SimulatedRadio(clock: clock)
        peripheral = await radio.add(strap.definition)
    }

    package func makeCentral(_ configuration: Central.Configuration) async throws -> Central {
        try await open(.simulated(radio), configuration)
    }

    package func stopNotifications(_ service: UInt16, _ characteristic: UInt16) async {
        await peripheral.stopChannels(of: EchoStrap.output.key.characteristic)
    }

    package func stopBluetooth() async { await radio.stop() }
    package func restartBluetooth() async { await radio.restart() }
    package func setPowered(_ isPowered: Bool) async { await radio.setPowered(isPowered) }
    package func setBlocked(_ isBlocked: Bool) async { await radio.setBlocked(isBlocked) }
    package func unplug() async { await radio.setPresent(false) }
    package func plug() async { await radio.setPresent(true) }
}
