import BLE
import BLEFakeBlueZ
import BLESimulation
import Logging

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The simulated radio that the commands of a user share: a fake bluetoothd, in the command that was first to serve.
///
/// It lasts as long as that command. What is served uses the adapter hci1, because an adapter does not receive itself.
/// There are two more, for further commands that serve.
final class SharedRadio: Sendable {
    /// The adapter of hosts.
    static let hostAdapter = "hci1"
    private static let adapters = [hostAdapter, "hci2", "hci3"]

    private let bus: PrivateBus
    private let daemon: FakeBlueZ

    private init(bus: PrivateBus, daemon: FakeBlueZ) { (self.bus, self.daemon) = (bus, daemon) }

    /// The path of its socket, from `BLE_SIMULATED_RADIO` or in the user's runtime directory. Nil if commands share
    /// nothing: the variable is empty, or the machine has no such directory.
    static var path: String? {
        // In virtual time, a daemon would be in another.
        guard !CommandClock.isVirtual else { return nil }
        if let path = getenv("BLE_SIMULATED_RADIO").map({ String(cString: $0) }) { return path.isEmpty ? nil : path }
        guard let folder = getenv("XDG_RUNTIME_DIR").map({ String(cString: $0) }), !folder.isEmpty else { return nil }
        return folder + "/ble-simulated-radio"
    }

    /// The address of the one that is there. Nil if there is none.
    static var address: String? {
        guard let path, PrivateBus.isUsed(path) else { return nil }
        return PrivateBus.address(path)
    }

    /// Starts one with the usual peripherals. Nil if commands share nothing, or another command has just started it.
    static func start(_ logger: Logger) async throws -> SharedRadio? {
        guard let path, let bus = try await newBus(path) else { return nil }
        let radio = SimulatedRadio(logger: logger)
        let daemon = FakeBlueZ(address: bus.address, radio: radio, minorVersion: 66, logger: logger)
        try await FakeWorld(radio: radio, daemon: daemon).fill(with: FakePeripheral.usual)
        for adapter in adapters { await daemon.addAdapter(adapter) }
        try await daemon.start()
        return SharedRadio(bus: bus, daemon: daemon)
    }

    private static func newBus(_ path: String) async throws(BLEError) -> PrivateBus? {
        do {
            return try await PrivateBus(path: path)
        } catch {
            // Another command may have been faster. Unless the path was asked for, the command has a radio of its own.
            guard error.code != .busy, !PrivateBus.isUsed(path), getenv("BLE_SIMULATED_RADIO") != nil else {
                return nil
            }
            throw error
        }
    }
}
