package import BLE
package import BLESimulation

/// The contract's peripheral on a simulated radio.
package struct SimulatedPeer: SimulatedStrapPeer {
    package let strap = SimulatedStrap()
    package let radio: SimulatedRadio
    /// The adapters that the central uses as radios. Empty if it uses the radio's first one by itself.
    private let adapters: [String]
    package let peripheral: SimulatedPeripheral
    private let open: @Sendable (SimulatedBackend, Central.Configuration) async throws -> Central
    package var systemProperties: [String: SystemValue]? { EchoStrap.systemProperties }

    /// - Parameters:
    ///   - clock: that of the radio.
    ///   - adapterCount: the number of adapters that the central uses together. Nil for a central on one backend.
    ///   - open: creates a central on a backend of the radio.
    package init(
        clock: any Clock<Duration> = ContinuousClock(), adapterCount: Int? = nil,
        open: @escaping @Sendable (SimulatedBackend, Central.Configuration) async throws -> Central = {
            try await Central(backend: $0, configuration: $1)
        }
    ) async {
        self.open = open
        radio = SimulatedRadio(clock: clock)
        adapters = (0..<(adapterCount ?? 0)).map { "hci\($0)" }
        for adapter in adapters.dropFirst() { await radio.addAdapter(adapter) }
        peripheral = await radio.add(strap.definition)
    }

    package func makeCentral(_ configuration: Central.Configuration) async throws -> Central {
        guard !adapters.isEmpty else { return try await open(.simulated(radio), configuration) }
        return try await Central(
            backend: RadiosBackend(adapters.map { ($0, .simulated(radio, adapter: $0)) }),
            configuration: configuration)
    }

    package func stopNotifications(_ service: UInt16, _ characteristic: UInt16) async {
        await peripheral.stopChannels(of: EchoStrap.output.key.characteristic)
    }

    package func stopBluetooth() async { await radio.stop() }
    package func restartBluetooth() async { await radio.restart() }
    package func setPowered(_ isPowered: Bool) async {
        for adapter in own { await radio.setPowered(isPowered, adapter: adapter) }
    }
    package func setBlocked(_ isBlocked: Bool) async {
        for adapter in own { await radio.setBlocked(isBlocked, adapter: adapter) }
    }
    package func unplug() async { for adapter in own { await radio.setPresent(false, adapter: adapter) } }
    package func plug() async { for adapter in own { await radio.setPresent(true, adapter: adapter) } }

    private var own: [String] { adapters.isEmpty ? ["hci0"] : adapters }
}
