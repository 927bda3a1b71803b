public import BLE
internal import Logging
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
    nonisolated let listed = Mutex<(devices: [String: DiscoveredDevice], at: Duration)>(([:], .zero))

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

    /// The connected device of that serial number; nil when it is not.
    public func device(serial: String) async -> Device? {
        guard let device = connected[serial.lowercased()], await device.isConnected else { return nil }
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
    /// Throws what connecting and discovering throw when the last attempt fails; then no link stays behind.
    public func connect(to discovered: DiscoveredDevice) async throws(BLEError) -> Device {
        try await connect(discovered.serial) { (_) throws(BLEError) in discovered }
    }

    /// Connects to the device of that serial number, twelve hexadecimal digits: at once when it is listed or has a link, otherwise
    /// as soon as a scan has found it.
    ///
    /// Throws `peripheralNotFound` when it is not found within the connect timeout, and what ``connect(to:)`` throws.
    public func connect(serial: String) async throws(BLEError) -> Device {
        try await connect(serial.lowercased()) { (devices) throws(BLEError) in
            try await devices.find(serial.lowercased())
        }
    }

    private func connect(
        _ serial: String, _ find: @escaping @Sendable (Devices) async throws(BLEError) -> DiscoveredDevice
    ) async throws(BLEError) -> Device {
        // (a link may have ended just now, and nobody been told yet)
        while let device = connected[serial] {
            if await device.isConnected { return device }
            if connected[serial] === device { connected[serial] = nil }
        }
        let work: SharedWork<Device>
        if let running = connecting[serial], !running.isOver {
            work = running
        } else {
            work = SharedWork { () throws(BLEError) in
                try await self.establish(find(self))
            } discard: { device in
                try? await device.disconnect()
            }
            connecting[serial] = work
        }
        defer { if connecting[serial] === work, work.isOver { connecting[serial] = nil } }
        return try await work.value()
    }

    /// A device that is listed, or that has a link already, or that a scan finds.
    private func find(_ serial: String) async throws(BLEError) -> DiscoveredDevice {
        if let listed = listed(serial) { return listed }
        for known in await central.knownPeripherals() where known.isConnected {
            // (what has a link does not advertise)
            if configuration.serial(in: known.advertisement) == serial {
                return DiscoveredDevice(
                    serial: serial, peripheral: central.peripheral(known.id), advertisement: known.advertisement)
            }
        }
        do {
            return try await central.withDeadline(configuration.connectTimeout) { [self] in
                for try await found in central.discoveries(matching: configuration.criteria) {
                    if let device = device(in: found), device.serial == serial { return device }
                }
                throw BLEError(.scanFailed, "the scan has ended")
            }
        } catch let error as BLEError where error.code == .timedOut {
            throw BLEError(
                .peripheralNotFound, "no device \(serial) was heard within \(configuration.connectTimeout)",
                remedy: "See that it is switched on, near, and not connected to something else.", cause: error)
        } catch {
            throw error as? BLEError ?? BLEError(.cancelled, "\(error)")
        }
    }

    private nonisolated func listed(_ serial: String) -> DiscoveredDevice? {
        let now = central.elapsed()
        return listed.withLock { now - $0.at <= configuration.staleness ? $0.devices[serial] : nil }
    }

    private func establish(_ discovered: DiscoveredDevice) async throws(BLEError) -> Device {
        var attempt = 1
        while true {
            let device = Device(discovered, configuration, storage)
            do throws(BLEError) {
                try await start(device)
                return device
            } catch {
                await device.end(error)
                // (in a task that is not cancelled: no link stays behind)
                await Task { try? await device.disconnect() }.value
                central.configuration.logger.debug(
                    "not connected",
                    metadata: ["device": "\(device.serial)", "attempt": "\(attempt)", "error": "\(error)"])
                guard error.isRetryable, !Task.isCancelled, attempt < configuration.connectAttempts else { throw error }
                attempt += 1
            }
        }
    }

    private func start(_ device: Device) async throws(BLEError) {
        do {
            try await central.withDeadline(configuration.connectTimeout) { try await device.start() }
        } catch {
            throw error as? BLEError ?? BLEError(.cancelled, "\(error)")
        }
        connected[device.serial] = device
        Task { [weak self] in
            guard let error = try? await device.untilDisconnected() else { return }
            await self?.ended(device, error)
        }
        await remember(device)
    }

    private func ended(_ device: Device, _ error: BLEError) async {
        if connected[device.serial] === device { connected[device.serial] = nil }
        await device.end(error)
    }

    // MARK: Remembering

    /// The devices that were connected to once and not forgotten, in order of their serial numbers. Throws `storageFailed`.
    public func savedDevices() async throws(BLEError) -> [SavedDevice] { try await storage.all() }

    /// Forgets a device and its key. A connected one stays connected. Throws `storageFailed`.
    public func forget(serial: String) async throws(BLEError) {
        try await storage.update(serial.lowercased()) { _ in nil }
    }

    private func remember(_ device: Device) async {
        do throws(BLEError) {
            try await storage.update(device.serial) {
                [name = device.name, id = device.peripheral.id, serial = device.serial] in
                var saved = $0 ?? SavedDevice(serial: serial)
                saved.name = name ?? saved.name
                saved.peripheral = id
                return saved
            }
        } catch {
            // (the device works all the same)
            central.configuration.logger.info("a device was not saved", metadata: ["error": "\(error)"])
        }
    }
}
