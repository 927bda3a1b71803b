public import BLE

/// What happens to the devices that are connected automatically; see
/// ``Devices/autoConnections(serials:minimumRSSI:limit:)``.
public enum DeviceEvent: Sendable {
    /// A device is connected, and its features are ready.
    case ready(Device)
    /// A device could not be connected, or is not ready. The next attempt follows after `retryAfter`, if the device is
    /// in range then. Nil if none follows by itself.
    case connectFailed(serial: String, BLEError, retryAfter: Duration?)
    /// The link of a device has ended, and why.
    case ended(Device, BLEError)
}

extension Devices {
    /// Connects to the devices in range, strongest first, again after each loss, and tells what happens to all of them.
    ///
    /// ```swift
    /// for try await event in devices.autoConnections() {
    ///     switch event {
    ///     case .ready(let lamp): print(lamp.serial, "is ready")
    ///     case .connectFailed(let serial, let error, _): print(serial, error)
    ///     case .ended(let lamp, let error): print(lamp.serial, error)
    ///     }
    /// }
    /// ```
    ///
    /// Starts at once, and ends when the stream is no longer read; the links stay. Devices that are connected already
    /// are told first, and those that the program connects meanwhile are told, too. One that the program disconnects
    /// is left alone until the program connects to it itself. A device is connected to as by ``connect(serial:)``, one
    /// at a time; after a failure, it is left alone for the pauses of `Backoff.standard`. Whoever advertises ever new
    /// serial numbers delays the others: name those that are wanted where that matters. Throws the errors of a scan.
    /// Keeps the newest 256 unread events.
    ///
    /// - Parameters:
    ///   - serials: the serial numbers of the devices, written as for ``connect(serial:)``. Others match no device. Nil
    ///     for all devices of this kind.
    ///   - minimumRSSI: the weakest signal strength to connect to, in dBm, inclusive.
    ///   - limit: how many devices are connected at most, at least 1, unless the program connects more itself. When one
    ///     is lost, the strongest in range takes its place.
    public nonisolated func autoConnections(
        serials: Set<String>? = nil, minimumRSSI: Int = -127, limit: Int = .max
    ) -> BoundedStream<DeviceEvent> {
        let wanted = serials.map { Set($0.compactMap { try? Self.normalized($0) }) }
        return AutoConnectorLoop<String>.start(on: central, policy: .dropOldest(capacity: 256)) {
            [self] (producer) throws(BLEError) in
            let run = AutoConnecting(wanted: wanted, limit: limit) { producer.yield($0) }
            let token = await begin(run)
            let failure: BLEError?
            do throws(BLEError) {
                try await keepConnecting(run, minimumRSSI)
                failure = nil
            } catch {
                failure = error
            }
            await end(token)
            if let failure { throw failure }
        }
    }

    private func begin(_ run: AutoConnecting) -> Int {
        lastRun += 1
        autoConnecting[lastRun] = run
        for device in live.values { run.ready(device) }
        return lastRun
    }

    private func end(_ token: Int) { autoConnecting[token] = nil }

    /// Records that an attempt of a run has ended with a device, which may have been connected before, or may be lost
    /// again.
    private func settle(_ run: AutoConnecting, _ device: Device) {
        if live[device.serial] === device {
            run.ready(device)
        } else if run.loop.record({ $0.isAttempting(device.serial) }) {
            run.failed(device.serial, Self.lost(device), now: central.elapsed())
        }
    }

    // MARK: The devices that are told

    /// Tells of a device that is ready. The end of the one before it comes first.
    func tellReady(_ device: Device) {
        if let former = live[device.serial] { tellEnd(of: former, Self.lost(former)) }
        live[device.serial] = device
        for run in autoConnecting.values { run.ready(device) }
    }

    /// Tells of the end of a device, once.
    func tellEnd(of device: Device, _ error: BLEError) {
        guard live[device.serial] === device else { return }
        live[device.serial] = nil
        for run in autoConnecting.values { run.ended(device, error) }
    }

    private static func lost(_ device: Device) -> BLEError {
        BLEError(
            .disconnected, "the link has ended", peripheral: device.peripheral.id, disconnectReason: .unknown)
    }

    private nonisolated func keepConnecting(_ run: AutoConnecting, _ minimumRSSI: Int) async throws(BLEError) {
        let events = central.discoveryEvents(
            // One with a link has no strength, and is near enough.
            matching: configuration.criteria && .custom { $0.rssi ?? 0 >= minimumRSSI },
            // One whose link has ended must be heard again, unchanged.
            duplicates: true, staleAfter: max(configuration.staleness, .seconds(1)))
        let scan = Task(executorPreference: central.taskExecutor) {
            var serials: [Peripheral.ID: String] = [:]
            var isInterrupted = false
            // Several peripherals may claim a serial number.
            var claims: [String: Int] = [:]
            func forget(_ id: Peripheral.ID) {
                guard let serial = serials.removeValue(forKey: id) else { return }
                claims[serial, default: 1] -= 1
                guard claims[serial] == 0 else { return }
                claims[serial] = nil
                run.loop.record { $0.lost(serial) }
            }
            do throws(BLEError) {
                for try await event in events {
                    switch event {
                    case .found(let found), .updated(let found):
                        if isInterrupted { run.loop.record { $0.adapterChanged(isOn: true) } }
                        isInterrupted = false
                        guard let device = self.device(in: found) else { continue }
                        if serials[device.peripheral.id] != device.serial {
                            forget(device.peripheral.id)
                            serials[device.peripheral.id] = device.serial
                            claims[device.serial, default: 0] += 1
                        }
                        run.found(device)
                    case .lost(let peripheral): forget(peripheral.id)
                    case .waiting:
                        // Nothing is received until then.
                        run.loop.record { $0.adapterChanged(isOn: false) }
                        isInterrupted = true
                    }
                }
            } catch {
                run.loop.finish(error)
            }
        }
        defer { scan.cancel() }
        try await run.loop.run(on: central) {
        } connect: { [self] serial in
            do throws(BLEError) {
                await settle(run, try await connect(serial: serial))
            } catch {
                run.failed(serial, error, now: central.elapsed())
            }
        }
    }

    /// A run of automatic connections: which devices it is for, and what is told of them.
    struct AutoConnecting: Sendable {
        fileprivate let loop: AutoConnectorLoop<String>
        private let wanted: Set<String>?
        private let tell: @Sendable (DeviceEvent) -> Void

        fileprivate init(wanted: Set<String>?, limit: Int, tell: @escaping @Sendable (DeviceEvent) -> Void) {
            loop = AutoConnectorLoop(AutoConnector(limit: limit, settling: .seconds(1)))
            (self.wanted, self.tell) = (wanted, tell)
        }

        private func isWanted(_ serial: String) -> Bool { wanted?.contains(serial) ?? true }

        fileprivate func found(_ device: DiscoveredDevice) {
            if isWanted(device.serial) { loop.found(device.serial, rssi: device.advertisement.rssi) }
        }

        /// Tells of a device whose features are ready.
        func ready(_ device: Device) {
            guard isWanted(device.serial) else { return }
            let isNew = loop.record { connector in
                // The program may have connected it before it was heard.
                _ = connector.found(device.serial, rssi: nil)
                return connector.linkUp(device.serial)
            }
            if isNew { tell(.ready(device)) }
        }

        /// Tells of a device whose link has ended.
        func ended(_ device: Device, _ error: BLEError) {
            let isRequested = error.disconnectReason == .local
            if loop.record({ $0.linkEnded(device.serial, isRequested: isRequested) }) { tell(.ended(device, error)) }
        }

        fileprivate func failed(_ serial: String, _ error: BLEError, now: Duration) {
            let pause = loop.record { connector in
                // This program has ended the attempt. If another has, the cause is the daemon's error.
                if error.code == .connectionCancelled, error.cause == nil { connector.attemptCancelled(serial) }
                return connector.attemptFailed(serial, now: now)
            }
            tell(.connectFailed(serial: serial, error, retryAfter: pause))
        }
    }
}
