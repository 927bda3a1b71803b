public import BLE

/// A stack under test in the peripheral role, and the centrals of another machine.
public protocol PeripheralContractPeer: Sendable {
    /// Creates a host on the stack under test.
    func makeHost(_ configuration: PeripheralHost.Configuration) async throws -> PeripheralHost

    /// Creates a central of another machine, in range of the stack under test.
    func makeCentral(_ configuration: Central.Configuration) async throws -> Central

    /// How long to wait for what happens on the stack. Longer than it can take on a busy machine.
    var timeout: Duration { get }

    /// Whether centrals can be told apart as subscribers. Asked once something is served.
    var distinguishesSubscribers: Bool { get }

    /// Stops and restarts the Bluetooth service under test.
    func restartStack() async throws

    /// Switches the adapter under test off or on.
    func setPowered(_ isPowered: Bool) async throws

    /// Takes the adapter under test out, or puts it back, switched on.
    func setPresent(_ isPresent: Bool) async throws

    /// Removes what an earlier check has left.
    func reset() async throws
}
