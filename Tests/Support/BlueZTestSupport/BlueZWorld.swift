public import BLE
package import BLEBlueZ
public import BLEFakeBlueZ
package import DBus
public import BLESimulation
public import BLETestSupport

/// A fake bluetoothd over a simulated radio, on a bus of its own.
public struct BlueZWorld: Sendable {
    public let bus: PrivateBus
    public let radio: SimulatedRadio
    public let daemon: FakeBlueZ
    private let carrier: TestCarrier

    /// - Parameters:
    ///   - carrier: what carries the messages of centrals and hosts.
    ///   - policy: the bus's policy, in its configuration's XML.
    ///   - hasAgentManager: whether the daemon has an AgentManager1.
    ///   - minorVersion: the second part of the daemon's version: 66 for 5.66.
    ///   - isAsInstalled: whether the daemon runs as a distribution starts it: not experimental, with its battery plugin.
    ///   - clock: that of the radio.
    package init(
        over carrier: TestCarrier = .socket, policy: String = PrivateBus.policy(), hasAgentManager: Bool = true,
        minorVersion: Int = 66, isAsInstalled: Bool = false, clock: any Clock<Duration> = ContinuousClock()
    ) async throws {
        try StartsProcesses.requireLane()
        self.carrier = carrier
        radio = SimulatedRadio(clock: clock)
        bus = try await PrivateBus(policy: policy)
        daemon = FakeBlueZ(
            address: bus.address, radio: radio, minorVersion: minorVersion, isExperimental: !isAsInstalled,
            readsBatteries: isAsInstalled,
            timeouts: FakeBlueZ.Timeouts(all: HangLimit.step))
        if !hasAgentManager { await daemon.omitAgentManager() }
        try await daemon.start()
    }

    /// A central on the daemon. The caller shuts it down.
    public func makeCentral(_ configuration: Central.Configuration = .quiet()) async throws -> Central {
        try await Central(backend: BlueZCentral(makeStack()), configuration: configuration)
    }

    /// A host on the daemon. The caller shuts it down.
    public func makeHost(
        _ configuration: PeripheralHost.Configuration = .quiet()
    ) async throws -> PeripheralHost {
        try await PeripheralHost(
            backend: BlueZPeripheral(makeStack(), requestTimeout: HangLimit.step * 2), configuration: configuration)
    }

    /// The state that the roles on one adapter share.
    package func makeStack() -> BlueZStack {
        BlueZStack(adapter: nil, address: address, channelSockets: daemon.channelSockets)
    }

    /// The bus, over this world's carrier.
    package var address: BusAddress { bus.address(over: carrier) }
}
