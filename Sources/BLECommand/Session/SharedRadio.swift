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
/// It lasts as long as that command. What is served does not use the adapter hci0, because an adapter does not receive
/// itself. Each command that serves has another one.
final class SharedRadio: Sendable {
    /// The adapters of hosts.
    private static let adapters = ["hci1", "hci2", "hci3"]

    /// An adapter that no other command serves on, until this is released.
    struct Place {
        let adapter: String
        /// The address of the radio's bus.
        let address: String
        fileprivate let name: BusName

        func release() async { await name.release() }
    }

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

    /// Reserves an adapter of the one that is there: by default, the first that is free. Nil if there is none.
    ///
    /// - Throws: `busy` if another command serves on the adapter, or others on all of them.
    static func place(on wanted: String?) async throws(BLEError) -> Place? {
        guard let address else { return nil }
        let adapters = wanted.map { [$0] } ?? Self.adapters
        for adapter in adapters {
            do throws(BLEError) {
                let name = try await BusName("ble.Radio.\(adapter)", at: address)
                return Place(adapter: adapter, address: address, name: name)
            } catch {
                guard error.code == .busy else { throw error }
            }
        }
        throw BLEError(
            .busy, "other commands serve on \(adapters.joined(separator: ", ")) of the shared radio",
            isRetryable: true,
            remedy: wanted == nil
                ? "End one of them, or serve on a radio of its own: BLE_SIMULATED_RADIO= ble serve …"
                : "End that command, or leave out --adapter.")
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
