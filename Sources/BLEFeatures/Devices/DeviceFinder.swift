internal import BLE

/// Finds the peripherals that claim a serial number, the most trustworthy one first.
///
/// Any peripheral can advertise any serial number. A peripheral that was saved as the device, or that is bonded, comes
/// before the others, which follow in the order in which they were found.
struct DeviceFinder: Sendable {
    let devices: Devices
    let serial: String
    /// The only peripheral to search for. Nil for any peripheral that claims the serial number.
    let chosen: Peripheral.ID?

    /// How long to wait for an expected peripheral after another one was found.
    private static let patience = Duration.seconds(2)

    private var central: Central { devices.central }
    private var configuration: Devices.Configuration { devices.configuration }

    /// Returns a peripheral that is listed, has a link already, or is found by a scan. Throws `peripheralNotFound`.
    func first() async throws(BLEError) -> DiscoveredDevice {
        let expected = await expected()
        let near = devices.listed(serial) + (await known { $0.isConnected })
        if let found = near.first(where: { isWanted($0) && expected.contains($0.peripheral.id) }) { return found }
        var found = near.first { isWanted($0) }
        if expected.isEmpty, let found { return found }
        try await checkAdapter()
        if found == nil { found = try await scan { _ in true } }
        guard let found else { throw notFound(nil) }
        if expected.isEmpty || expected.contains(found.peripheral.id) { return found }
        return try await wait { expected.contains($0) } ?? found
    }

    /// Returns another peripheral that claims the serial number. Nil if there is none.
    ///
    /// - Parameter scanning: whether to scan briefly if no other peripheral is known.
    func another(than tried: Set<Peripheral.ID>, scanning: Bool) async throws(BLEError) -> DiscoveredDevice? {
        // Only a peripheral that was received recently has an RSSI.
        let near = devices.listed(serial) + (await known { $0.isConnected || $0.advertisement.rssi != nil })
        if let found = near.first(where: { isWanted($0) && !tried.contains($0.peripheral.id) }) { return found }
        return scanning ? try await wait { !tried.contains($0) } : nil
    }

    private func isWanted(_ found: DiscoveredDevice) -> Bool { chosen == nil || found.peripheral.id == chosen }

    // MARK: Expected peripherals

    /// The peripherals that are known to be the device: the saved one, and bonded ones that claim its serial number.
    private func expected() async -> Set<Peripheral.ID> {
        if let chosen { return [chosen] }
        var expected: Set<Peripheral.ID> = []
        if let saved = await saved() { expected.insert(saved) }
        for found in await known({ _ in true }) where !expected.contains(found.peripheral.id) {
            if await Self.isBonded(found.peripheral) { expected.insert(found.peripheral.id) }
        }
        return expected
    }

    private func saved() async -> Peripheral.ID? { (try? await devices.storage.device(serial))??.peripheral }

    static func isBonded(_ peripheral: Peripheral) async -> Bool { (try? await peripheral.isPaired) ?? false }

    // MARK: Sources

    /// Peripherals that the system knows. A connected peripheral does not advertise, so it is recognized by its last
    /// advertisement or by the saved entry.
    private func known(_ matches: (KnownPeripheral) -> Bool) async -> [DiscoveredDevice] {
        let saved = await saved()
        return await central.knownPeripherals().filter(matches).compactMap { known in
            guard configuration.serial(in: known.advertisement) == serial || known.id == saved else { return nil }
            return DiscoveredDevice(
                serial: serial, peripheral: central.peripheral(known.id), advertisement: known.advertisement)
        }
    }

    private func scan(
        _ matches: @escaping @Sendable (Peripheral.ID) -> Bool
    ) async throws(BLEError) -> DiscoveredDevice {
        do throws(BLEError) {
            return try await scan(configuration.connectTimeout, matches)
        } catch {
            throw error.code == .timedOut ? notFound(error) : error
        }
    }

    /// Scans briefly for another peripheral. Returns nil if none is found.
    private func wait(
        _ matches: @escaping @Sendable (Peripheral.ID) -> Bool
    ) async throws(BLEError) -> DiscoveredDevice? {
        do throws(BLEError) {
            return try await scan(Self.patience, matches)
        } catch {
            if error.code == .timedOut { return nil }
            throw error
        }
    }

    private func scan(
        _ timeout: Duration, _ matches: @escaping @Sendable (Peripheral.ID) -> Bool
    ) async throws(BLEError) -> DiscoveredDevice {
        do {
            return try await central.withDeadline(timeout) { [self] in
                for try await found in central.discoveries(matching: configuration.criteria) {
                    if let device = devices.device(in: found), device.serial == serial, isWanted(device),
                        matches(device.peripheral.id)
                    {
                        return device
                    }
                }
                throw BLEError(.scanFailed, "the scan has ended")
            }
        } catch {
            throw error as? BLEError ?? BLEError(.cancelled, "\(error)")
        }
    }

    private func notFound(_ cause: BLEError?) -> BLEError {
        BLEError(
            .peripheralNotFound, "no device \(serial) was found within \(configuration.connectTimeout)",
            isRetryable: false, remedy: "Check that it is switched on, near, and not connected to another central.",
            cause: cause)
    }

    /// Throws if the adapter is off or missing, since a scan would wait for it.
    private func checkAdapter() async throws(BLEError) {
        if let error = await central.adapterState.error { throw error }
    }
}
