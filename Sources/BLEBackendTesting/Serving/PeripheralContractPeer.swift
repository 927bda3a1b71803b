public import BLE

/// A stack under test in the peripheral role, and the centrals of another machine.
public protocol PeripheralContractPeer: Sendable {
    /// Creates a host on the stack under test.
    func makeHost(_ configuration: PeripheralHost.Configuration) async throws -> PeripheralHost

    /// Creates a central of another machine, in range of the stack under test.
    func makeCentral(_ configuration: Central.Configuration) async throws -> Central

    /// The maximum wait for events of the stack, longer than they can take on a busy machine.
    var timeout: Duration { get }

    /// Whether the stack distinguishes centrals as subscribers. Called after services are registered.
    var distinguishesSubscribers: Bool { get }

    /// Stops and restarts the Bluetooth service under test.
    func restartStack() async throws

    /// Switches the adapter under test off or on.
    func setPowered(_ isPowered: Bool) async throws

    /// Unplugs the adapter under test, or plugs it in, powered on.
    func setPresent(_ isPresent: Bool) async throws

    /// Removes the remains of earlier checks.
    func reset() async throws
}
