public import BLE
internal import Logging
internal import Waiting

extension ESPHomeCentral {
    /// The peripherals whose advertisements were received.
    public func knownPeripherals() -> [KnownPeripheral] {
        var known: [KnownPeripheral] = []
        heard.forEach { address, id, advertisement in
            var advertisement = advertisement
            advertisement.rssi = nil
            known.append(
                KnownPeripheral(
                    id: id, advertisement: advertisement, isConnected: links[address]?.isUp == true,
                    services: advertisement.serviceUUIDs.union(links[address]?.services ?? [])))
        }
        return known
    }

    /// Subscribes to the proxy's advertisements. The proxy scans without a pause; its mode is changed if necessary,
    /// for all of its clients.
    ///
    /// Returns when the proxy's scanner runs, or when it is known why it does not. ``scanObstacle()`` is then
    /// `busy` if the proxy has not answered for 10 s, because another client receives its advertisements, and
    /// `failed` if its scanner has failed, or has not started within that time. Both are tried again after 10, 30,
    /// 60, 60, … seconds. Throws `cancelled` if ``stopDiscovery()`` is called before that.
    ///
    /// Throws `notSupported` if a passive scan is requested of a proxy that does not report its mode.
    public func startDiscovery(_ filter: DiscoveryFilter) async throws(BLEError) {
        try checkReady()
        if info.features.contains(.scannerState) {
            let mode = filter.isPassive ? ScannerMode.passive : .active
            if scannerMode != mode {
                send(.setScannerMode(mode))
            } else if self.filter == nil, !links.isEmpty, elapsed() - lastHeard >= Self.silence {
                restartScanner(mode)
            }
            // The connection may have been lost at that.
            try checkReady()
        } else if filter.isPassive {
            throw BLEError(.notSupported, "the proxy does not report how it scans", isRetryable: false)
        }
        let wasScanning = self.filter != nil
        self.filter = filter
        guard !wasScanning else { return }
        let outcome = Outcome<Void>()
        (scanStart, scanFault) = (outcome, nil)
        do throws(BLEError) {
            try setSubscription(true)
            try await outcome.wait()
        } catch {
            // It may have been stopped, and another scan begun, since.
            if scanStart === outcome {
                self.filter = nil
                (scanStart, scanFault) = (nil, nil)
                releaseSubscription()
            }
            throw error
        }
    }

    /// The time without an advertisement after which a scan begins with a restart of the scanner, if the links keep
    /// the subscription.
    private static let silence = Duration.seconds(60)

    /// Ends the scan. The subscription goes on while there are links, or attempts: a proxy ends its links with it.
    public func stopDiscovery() async throws(BLEError) {
        guard filter != nil else { return }
        filter = nil
        scanStart?.deliver(.failure(BLEError(.cancelled, "the scan was stopped before it had begun")))
        (scanStart, scanFault) = (nil, nil)
        releaseSubscription()
    }

    /// Ends the subscription if nothing needs it: a proxy reports to its subscriber alone, and ends its links
    /// without one.
    func releaseSubscription() {
        guard filter == nil, links.isEmpty, !requests.areAwaited else { return }
        // Those that nobody waits for are not answered any longer either, and must not take the answers of later
        // ones.
        _ = requests.takeAll()
        // Without a session there is none.
        try? setSubscription(false)
    }

    /// Restarts the proxy's scanner, which leaves its links as they are. A scanner that is given another mode
    /// starts again.
    private func restartScanner(_ mode: ScannerMode) {
        send(.setScannerMode(mode == .active ? .passive : .active))
        send(.setScannerMode(mode))
    }

    /// Why the proxy does not scan for this central. Nil if it does, or was not asked to.
    public func scanObstacle() -> BLEError? { scanFault }

    static let isUsedByAnother = BLEError(
        .busy, "another client receives the proxy's advertisements",
        remedy: "Disconnect the other client, or restart the proxy.")
    private static let hasFailed = BLEError(
        .failed, "the proxy's scanner does not run", isRetryable: true, remedy: "Restart the proxy if it stays so.")

    /// The shortest time between two log entries about the scanner.
    private static let logPause = Duration.seconds(10)

    /// Records whether the proxy scans, and why not.
    func scanChanged(_ fault: BLEError?) {
        guard filter != nil else { return }
        let isNew = fault?.code != scanFault?.code
        scanFault = fault
        scanStart?.deliver(.success(()))
        scanStart = nil
        guard isNew else { return }
        let now = elapsed()
        if lastScannerLog.map({ now - $0 >= Self.logPause }) ?? true {
            lastScannerLog = now
            logger.info("the proxy's scanner", metadata: ["fault": "\(fault.map { "\($0)" } ?? "none")"])
        }
        report(.radioChanged)
    }

    func scannerFailed(_ isTriedAgain: Bool) {
        guard let filter else { return }
        if isTriedAgain { restartScanner(filter.isPassive ? .passive : .active) }
        guard self.filter != nil else { return }
        scanChanged(Self.hasFailed)
    }

    func receive(_ raw: RawAdvertisement) {
        guard let filter, filter.transport != .classic, let (id, advertisement) = heard.receive(raw) else { return }
        report(.advertisementReceived(id, advertisement))
        for id in heard.removeExcess(keeping: { links[$0] != nil }) { report(.peripheralRemoved(id)) }
    }
}
