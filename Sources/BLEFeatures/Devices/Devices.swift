public import BLE
internal import Synchronization

/// The devices of one kind: found, connected to, remembered.
///
/// ```swift
/// let devices = Devices(central, configuration: try Devices.Configuration(features: [LightFeature.self]))
/// let lamp = try await devices.connect(serial: "010203040506")
/// try await lamp.feature(LightFeature.self).set(on: true)
/// ```
public actor Devices {
    /// The radio.
    public nonisolated let central: Central
    /// The kind of device.
    public nonisolated let configuration: Configuration
    /// Where devices and their keys are remembered.
    public nonisolated let storage: any DeviceStorage

    private var connected: [String: Device] = [:]
    private var connecting: [String: SharedWork<Device>] = [:]
    /// The devices that the last snapshot of any list had, and when it came.
    nonisolated let listed = Mutex<(devices: [DiscoveredDevice], at: Duration)>(([], .zero))

    /// The central's executor.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { central.unownedExecutor }

    /// The devices of a kind. Nothing is scanned for before somebody wants to see the list, or to connect.
    ///
    /// - Parameter storage: where devices and their keys are remembered; by default only as long as this object lives.
    public init(
        _ central: Central, configuration: Configuration, storage: any DeviceStorage = MemoryDeviceStorage()
    ) {
        self.central = central
        self.configuration = configuration
        self.storage = storage
    }

    // MARK: Finding

    /// The devices that are near, as a list that is kept up to date, in the order in which they were found; see
    /// ``Central/nearby(matching:minimumRSSI:staleAfter:)``. Iterating starts a scan, leaving the loop stops it.
    ///
    /// Anybody can advertise any serial number: peripherals that claim the same one are all in the list.
    public nonisolated func nearby() -> NearbyDevices {
        NearbyDevices(
            devices: self,
            lists: central.nearby(
                matching: configuration.criteria, minimumRSSI: -127, staleAfter: configuration.staleness))
    }

    /// The device in what was discovered; nil for anything that is none.
    public nonisolated func device(in discovery: Discovery) -> DiscoveredDevice? {
        guard let serial = configuration.serial(in: discovery.advertisement) else { return nil }
        return DiscoveredDevice(
            serial: serial, peripheral: discovery.peripheral, advertisement: discovery.advertisement)
    }

    // MARK: Connecting

    /// All that claim that serial number in the newest list, in its order, if it is not stale.
    nonisolated func listed(_ serial: String) -> [DiscoveredDevice] {
        let now = central.elapsed()
        return listed.withLock { list in
            now - list.at <= configuration.staleness ? list.devices.filter { $0.serial == serial } : []
        }
    }

    /// What the list says of the peripheral is no longer so.
    nonisolated func unlist(_ peripheral: Peripheral.ID) {
        listed.withLock { $0.devices.removeAll { $0.peripheral.id == peripheral } }
    }

    /// The connected device of that serial number; nil when it is not.
    public func device(serial: String) async -> Device? {
        guard let serial = try? Self.normalized(serial), let device = connected[serial], await device.isConnected else {
            return nil
        }
        return device
    }

    /// All that are connected, in order of their serial numbers.
    public var connectedDevices: [Device] {
        get async {
            var devices: [Device] = []
            for device in connected.values.sorted(by: { $0.serial < $1.serial }) where await device.isConnected {
                devices.append(device)
            }
            return devices
        }
    }

    /// Connects to a device that was found; returns when it listens and its features are ready. One that is connected is
    /// returned at once; callers at the same time share the attempts.
    ///
    /// The peripheral that was found is taken for the device without a proof. It is saved as the device only if no other one is, and,
    /// where encryption is in `bound` mode, only after it has proved that it has the pairing key, or was paired with.
    ///
    /// Throws what connecting and discovering throw when the last attempt fails; then no link stays behind that was made for it.
    public func connect(to discovered: DiscoveredDevice) async throws(BLEError) -> Device {
        try await connect(discovered.serial, discovered)
    }

    /// Connects to the device of that serial number: at once when it is listed or has a link, otherwise as soon as a scan has found
    /// it.
    ///
    /// Several peripherals may claim the serial number. The one that was saved, or that this machine is bonded with, is preferred, and
    /// waited for up to 2 s longer than for the others. These are tried in the order in which they were found, each after the one before
    /// has failed. With encryption in `bound` mode and a saved pairing key, they must prove that they have the key: what does not is
    /// neither connected to nor saved. If all fail, the error of the first is thrown. To pair anew with such a peripheral, use ``connect(to:)``.
    ///
    /// Throws `peripheralNotFound` when it is not found within the connect timeout, `invalidArgument` for what is no serial number,
    /// and what ``connect(to:)`` throws.
    ///
    /// - Parameter serial: twelve hexadecimal digits of either case, spaces, colons and dashes between bytes allowed.
    public func connect(serial: String) async throws(BLEError) -> Device {
        try await connect(try Self.normalized(serial), nil)
    }

    private static func normalized(_ serial: String) throws(BLEError) -> String {
        guard let bytes = Hex.bytes(serial), bytes.count == 6 else {
            throw BLEError(
                .invalidArgument, "\"\(serial)\" is no serial number", isRetryable: false,
                remedy: "Give its twelve hexadecimal digits.")
        }
        return Hex.string(bytes)
    }

    private func connect(_ serial: String, _ discovered: DiscoveredDevice?) async throws(BLEError) -> Device {
        while true {
            if let device = connected[serial] {
                if await device.isConnected { return device }
                if connected[serial] === device { connected[serial] = nil }
            }
            guard let running = connecting[serial] else { break }
            if !running.isAbandoned { return try await take(running, serial) }
            // Its link goes down first.
            await running.untilEnded()
            if connecting[serial] === running { connecting[serial] = nil }
            if Task.isCancelled { throw .cancelled }
        }
        let connector = DeviceConnector(devices: self, serial: serial)
        let work = SharedWork { () throws(BLEError) in
            try await connector.connect(discovered)
        } discard: { device in
            await connector.giveBack(device)
        }
        connecting[serial] = work
        return try await take(work, serial)
    }

    private func take(_ work: SharedWork<Device>, _ serial: String) async throws(BLEError) -> Device {
        do throws(BLEError) {
            let device = try await work.value()
            publish(device)
            if connecting[serial] === work { connecting[serial] = nil }
            return device
        } catch {
            if !work.isAbandoned {
                if work.isOver { settle(work, serial) }
            } else {
                // Until its link is down, whoever comes next waits for that.
                Task { [weak self] in
                    await work.untilEnded()
                    await self?.settle(work, serial)
                }
            }
            throw error
        }
    }

    private func settle(_ work: SharedWork<Device>, _ serial: String) {
        if connecting[serial] === work { connecting[serial] = nil }
    }

    private func publish(_ device: Device) {
        guard connected[device.serial] !== device else { return }
        connected[device.serial] = device
        Task { [weak self] in
            guard let error = try? await device.untilDisconnected() else { return }
            await device.end(error)
            await self?.removed(device)
        }
    }

    /// A device's session is over. Where its link is not, nobody has it any more.
    private func removed(_ device: Device) async {
        guard connected[device.serial] === device else { return }
        connected[device.serial] = nil
        if connecting[device.serial] == nil { try? await device.disconnect() }
    }

    // MARK: Remembering

    /// The devices that were connected to once and not forgotten, in order of their serial numbers. Throws `storageFailed`.
    public func savedDevices() async throws(BLEError) -> [SavedDevice] { try await storage.all() }

    /// Forgets a device and its key. A connected one stays connected. Throws `storageFailed`, and `invalidArgument` for what is no
    /// serial number.
    public func forget(serial: String) async throws(BLEError) {
        try await storage.update(try Self.normalized(serial)) { _ in nil }
    }
}
