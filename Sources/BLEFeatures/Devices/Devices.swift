public import BLE
internal import Synchronization

/// Finds, connects to and remembers the devices of one kind.
///
/// ```swift
/// let devices = Devices(central, configuration: try Devices.Configuration(features: [LightFeature.self]))
/// let lamp = try await devices.connect(serial: "010203040506")
/// try await lamp.feature(LightFeature.self).set(on: true)
/// ```
public actor Devices {
    /// The central that scans and connects.
    public nonisolated let central: Central
    /// The kind of device.
    public nonisolated let configuration: Configuration
    /// The storage for devices and their keys.
    public nonisolated let storage: any DeviceStorage

    private var connected: [String: Device] = [:]
    private var connecting: [String: SharedWork<Device>] = [:]
    /// The devices of which ``autoConnections(serials:minimumRSSI:limit:)`` has told, and not of their ends.
    var live: [String: Device] = [:]
    var autoConnecting: [Int: AutoConnecting] = [:]
    var lastRun = 0
    /// The devices in the newest snapshot of any list, and the time at which it was read.
    nonisolated let listed = Mutex<(devices: [DiscoveredDevice], at: Duration)>(([], .zero))

    /// The central's executor.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { central.unownedExecutor }

    /// Creates the devices of one kind. Scanning starts only when a list is iterated or a device must be found to
    /// connect.
    ///
    /// - Parameter storage: the storage for devices and their keys. By default, they are remembered only as long as
    ///   this object exists.
    public init(
        _ central: Central, configuration: Configuration, storage: any DeviceStorage = MemoryDeviceStorage()
    ) {
        self.central = central
        self.configuration = configuration
        self.storage = storage
    }

    // MARK: Finding

    /// Returns the devices in range, as a list that is kept up to date, in the order in which they were found; see
    /// `Central.nearby(matching:minimumRSSI:staleAfter:)`. Iterating starts a scan, leaving the loop stops it.
    ///
    /// Any peripheral can advertise any serial number. All peripherals that claim the same one are in the list.
    public nonisolated func nearby() -> NearbyDevices {
        NearbyDevices(
            devices: self,
            lists: central.nearby(
                matching: configuration.criteria, minimumRSSI: -127, staleAfter: configuration.staleness))
    }

    /// Returns the device that was discovered. Nil if the peripheral is not one of these devices.
    public nonisolated func device(in discovery: Discovery) -> DiscoveredDevice? {
        guard let serial = configuration.serial(in: discovery.advertisement) else { return nil }
        return DiscoveredDevice(
            serial: serial, peripheral: discovery.peripheral, advertisement: discovery.advertisement)
    }

    // MARK: Connecting

    /// Returns all devices with the given serial number in the newest list, in its order. Empty if the list is stale.
    nonisolated func listed(_ serial: String) -> [DiscoveredDevice] {
        let now = central.elapsed()
        return listed.withLock { list in
            now - list.at <= configuration.staleness ? list.devices.filter { $0.serial == serial } : []
        }
    }

    /// Removes a peripheral from the newest list.
    nonisolated func unlist(_ peripheral: Peripheral.ID) {
        listed.withLock { $0.devices.removeAll { $0.peripheral.id == peripheral } }
    }

    /// Returns the device with the given serial number if it is connected.
    public func device(serial: String) async -> Device? {
        guard let serial = try? Self.normalized(serial), let device = connected[serial], await device.isConnected else {
            return nil
        }
        return device
    }

    /// All connected devices, in order of their serial numbers.
    public var connectedDevices: [Device] {
        get async {
            var devices: [Device] = []
            for device in connected.values.sorted(by: { $0.serial < $1.serial }) where await device.isConnected {
                devices.append(device)
            }
            return devices
        }
    }

    /// Connects to a discovered device. Returns when its features are ready.
    ///
    /// A device that is already connected is returned immediately. Concurrent callers share the attempts.
    ///
    /// The peripheral is accepted as the device without proof. It is saved as the device if it is bonded. With
    /// encryption in `bound` mode, it is also saved when it has proved that it has the pairing key, or after a new
    /// pairing. In other modes, and without encryption, it is saved if no other peripheral is saved as the device.
    ///
    /// Throws the errors of connecting and discovering if the last attempt fails. A link that was made for it is ended.
    public func connect(to discovered: DiscoveredDevice) async throws(BLEError) -> Device {
        try await connect(discovered.serial, discovered)
    }

    /// Connects to the device with the given serial number: immediately if it is listed or has a link, otherwise as
    /// soon as a scan finds it.
    ///
    /// Several peripherals may claim the serial number. A peripheral that was saved as the device, or that is bonded,
    /// is preferred: it is awaited up to 2 s longer than the others. If a peripheral fails, the next one is tried, in
    /// the order in which they were found. With encryption in `bound` mode and a saved pairing key, the others must
    /// prove that they have the key; a peripheral that does not is disconnected and not saved. If all fail, the error
    /// of the first is thrown. To replace the pairing key by pairing with such a peripheral, use ``connect(to:)``.
    ///
    /// Throws `peripheralNotFound` if the device is not found within the connect timeout, `invalidArgument` if `serial`
    /// is not a valid serial number, and the errors of ``connect(to:)``.
    ///
    /// - Parameter serial: twelve hexadecimal digits in upper or lower case, with optional spaces, colons and dashes
    ///   between bytes.
    public func connect(serial: String) async throws(BLEError) -> Device {
        try await connect(try Self.normalized(serial), nil)
    }

    static func normalized(_ serial: String) throws(BLEError) -> String {
        guard let bytes = Hex.bytes(serial), bytes.count == 6 else {
            throw BLEError(
                .invalidArgument, "\"\(serial)\" is not a valid serial number", isRetryable: false,
                remedy: "Use the twelve hexadecimal digits of the serial number.")
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
            if let waiter = running.join() { return try await take(running, waiter, serial) }
            // Waits until the link of the abandoned attempt has ended.
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
        guard let waiter = work.join() else { throw .cancelled }
        return try await take(work, waiter, serial)
    }

    private func take(
        _ work: SharedWork<Device>, _ waiter: SharedWork<Device>.Waiter, _ serial: String
    ) async throws(BLEError) -> Device {
        do throws(BLEError) {
            let device = try await work.value(of: waiter)
            publish(device)
            if connecting[serial] === work { connecting[serial] = nil }
            return device
        } catch {
            if !work.isAbandoned {
                if work.isOver { settle(work, serial) }
            } else {
                // Later callers wait until the link has ended.
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
        // Several callers share an attempt, and the device may have ended since the first of them.
        guard device.beginPublishing() else { return }
        connected[device.serial] = device
        tellReady(device)
        // Several steps: each knows the device, and does nothing once another is in its place.
        Task { [weak self] in
            guard let error = try? await device.untilDisconnected() else { return }
            await self?.tellEnd(of: device, error)
            await device.end(error)
            await self?.removed(device)
        }
    }

    /// Removes a device whose session has ended. Disconnects it, unless it is being connected to again.
    private func removed(_ device: Device) async {
        guard connected[device.serial] === device else { return }
        connected[device.serial] = nil
        if connecting[device.serial] == nil { try? await device.disconnect() }
    }

    // MARK: Saved devices

    /// Returns the devices that were saved and not forgotten, in order of their serial numbers. Throws `storageFailed`.
    public func savedDevices() async throws(BLEError) -> [SavedDevice] { try await storage.all() }

    /// Forgets a device and its key. A connected device stays connected. Throws `storageFailed`, and `invalidArgument`
    /// if `serial` is not a valid serial number.
    public func forget(serial: String) async throws(BLEError) {
        try await storage.update(try Self.normalized(serial)) { _ in nil }
    }
}
