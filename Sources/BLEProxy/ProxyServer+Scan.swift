internal import BLE
internal import BLEESPHome
internal import Logging
internal import Loop
internal import Waiting

/// One scan of the radio, for all clients that are sent advertisements.
struct ProxyScan {
    var task: Task<Void, Never>?
    /// Follows whether the radio scans.
    var watch: Task<Void, Never>?
    /// Tells apart the scans.
    var number = 0
    var mode = ScannerMode.active
    /// Whether the radio cannot scan passively.
    var isPassiveRefused = false
    var isRadioScanning = false
    /// Whether the adapter is off or absent.
    var isWaiting = false
    /// Begins a scan that has failed again.
    var retry: LoopTimer?
    /// The number of cancelled scans whose tasks have not ended yet, of which there are two at most: another scan
    /// begins when they have ended, or in place of one.
    var endingCount = 0
    /// Present for a while after a change of the mode, which restarts the scan of all clients.
    var rest: Expiry?

    /// Cancels what runs.
    mutating func end() {
        guard let task else { return }
        task.cancel()
        endingCount += 1
        self.task = nil
    }

    var state: ScannerState {
        if retry != nil { return .failed }
        if isWaiting { return .stopped }
        return isRadioScanning ? .running : .starting
    }
}

extension ProxyServer {
    /// The pause before a scan that has failed begins again.
    private static let retryPause = Duration.seconds(10)
    /// The minimum time between two changes of the mode. The last one that was asked for meanwhile counts.
    private static let modePause = Duration.seconds(5)

    // MARK: What clients want

    func subscribeAdvertisements(_ id: Int, _ client: ProxyClient) {
        client.isScanning = true
        // Each subscription is answered: the answer proves to the client that it has one.
        client.toldScanner = nil
        updateScan()
        client.isReportDue = true
        if client.connectedReport == nil { reportConnected(to: id, client) }
    }

    /// Reports the peripherals with a link, which do not advertise: after each subscription, but one report at a time.
    private func reportConnected(to id: Int, _ client: ProxyClient) {
        client.isReportDue = false
        client.connectedReport = Task { [weak self, central] in
            await self?.report(central.connected(matching: .any), to: id)
        }
    }

    private func report(_ connected: [Discovery], to id: Int) {
        guard let client = clients[id] else { return }
        client.connectedReport = nil
        for discovery in connected { advertise(discovery, to: id) }
        // It may have had others then, or have lost these with the end of the former subscription.
        if client.isReportDue { reportConnected(to: id, client) }
    }

    func unsubscribeAdvertisements(_ client: ProxyClient) {
        client.isScanning = false
        client.advertisements.removeAll()
        updateScan()
    }

    func setScannerMode(_ mode: ScannerMode, _ client: ProxyClient) {
        client.scannerMode = mode
        client.toldScanner = nil
        updateScan()
    }

    /// Begins, changes or ends the scan, as the clients want it. It is active if one of them wants that.
    func updateScan() {
        let scanning = clients.values.filter(\.isScanning)
        guard !scanning.isEmpty else {
            scan.end()
            scan.watch?.cancel()
            scan.retry?.cancel()
            (scan.watch, scan.retry) = (nil, nil)
            (scan.isRadioScanning, scan.isWaiting) = (false, false)
            return
        }
        let isPassive = !scan.isPassiveRefused && scanning.allSatisfy { $0.scannerMode == .passive }
        let mode = isPassive ? ScannerMode.passive : .active
        if scan.endingCount == 0 {
            if scan.task == nil, scan.retry == nil {
                startScan(mode)
            } else if scan.task != nil, scan.mode != mode, scan.rest == nil {
                scan.rest = call(after: Self.modePause) { server in
                    server.scan.rest = nil
                    server.updateScan()
                }
                scan.end()
                startScan(mode)
            }
        }
        tellScanner()
    }

    private func startScan(_ mode: ScannerMode) {
        scan.number += 1
        (scan.mode, scan.isWaiting) = (mode, false)
        let number = scan.number
        scan.task = Task(executorPreference: taskExecutor) { [weak self, central] in
            let events = central.discoveryEvents(matching: mode == .passive ? .passive : .any, duplicates: true)
            do throws(BLEError) {
                for try await event in events {
                    guard let self else { return }
                    await handle(event, of: number)
                }
                await self?.scanEnded(number, .cancelled)
            } catch {
                await self?.scanEnded(number, error)
            }
        }
        guard scan.watch == nil else { return }
        scan.watch = Task { [weak self, central] in
            do throws(BLEError) {
                for try await isScanning in await central.scanningStates() { await self?.radioChanged(isScanning) }
            } catch {
                // The scan ends with the central, too.
            }
        }
    }

    private func handle(_ event: DiscoveryEvent, of number: Int) {
        guard number == scan.number else { return }
        switch event {
        case .found(let discovery), .updated(let discovery): advertise(discovery)
        case .lost: break
        case .waiting:
            scan.isWaiting = true
            tellScanner()
        }
    }

    private func radioChanged(_ isScanning: Bool) {
        guard scan.watch != nil else { return }
        scan.isRadioScanning = isScanning
        if isScanning { scan.isWaiting = false }
        tellScanner()
    }

    private func scanEnded(_ number: Int, _ error: BLEError) {
        guard number == scan.number, scan.task != nil else {
            scan.endingCount -= 1
            return updateScan()
        }
        scan.task = nil
        if scan.mode == .passive, error.code == .notSupported {
            logger.info("the radio does not scan passively; the proxy scans actively")
            scan.isPassiveRefused = true
            return updateScan()
        }
        logger.info("the scan of the proxy ended", metadata: ["error": "\(error)"])
        scan.retry = loop.schedule(after: Self.retryPause) { [weak self] in
            self?.assumeIsolated { server in
                server.scan.retry = nil
                server.updateScan()
            }
        }
        tellScanner()
    }

    /// Tells each client what the scanner does, if that has changed.
    private func tellScanner() {
        for (id, client) in clients where client.isScanning {
            let message = ProxyMessage.scannerState(scan.state, mode: scan.mode, configured: client.scannerMode)
            guard client.toldScanner != message else { continue }
            client.toldScanner = message
            send(message, to: id)
        }
    }

    // MARK: Advertisements

    /// The number of advertisements in one message, and the time after which fewer are sent, as firmware does it.
    private static let (batch, batchTime) = (16, Duration.milliseconds(100))
    /// The number of bytes that wait for a client, beyond which advertisements wait for room.
    private static let maximumUnsent = 64 * 1024

    private func advertise(_ discovery: Discovery) {
        guard let advertisement = RawAdvertisement(discovery) else { return }
        for (id, client) in clients where client.isScanning { enqueue(advertisement, id, client) }
    }

    private func advertise(_ discovery: Discovery, to id: Int) {
        guard let client = clients[id], client.isScanning, let advertisement = RawAdvertisement(discovery) else {
            return
        }
        enqueue(advertisement, id, client)
    }

    func enqueue(_ advertisement: RawAdvertisement, _ id: Int, _ client: ProxyClient) {
        client.advertisements.append(advertisement)
        guard !client.waitsForRoom else { return }
        if client.advertisements.count >= Self.batch { return sendAdvertisements(id) }
        guard client.advertisementTimer == nil else { return }
        client.advertisementTimer = loop.schedule(after: Self.batchTime) { [weak self] in
            self?.assumeIsolated { $0.sendAdvertisements(id) }
        }
    }

    /// Sends what waits. If the client does not take it, the rest waits for room.
    private func sendAdvertisements(_ id: Int) {
        guard let client = clients[id] else { return }
        client.advertisementTimer?.cancel()
        client.advertisementTimer = nil
        while clients[id] != nil, client.advertisements.count > 0 {
            guard client.socket.unsentCount < Self.maximumUnsent else {
                client.waitsForRoom = true
                return client.socket.whenSent { [weak self] in
                    self?.assumeIsolated { server in
                        server.clients[id]?.waitsForRoom = false
                        server.sendAdvertisements(id)
                    }
                }
            }
            send(.advertisements(client.advertisements.take(Self.batch)), to: id)
        }
    }
}
