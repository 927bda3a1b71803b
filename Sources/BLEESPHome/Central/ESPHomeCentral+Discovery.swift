#if Loop
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
        /// 60, 60, … seconds.
        ///
        /// Throws `notSupported` if a passive scan is requested of a proxy that does not report its mode.
        public func startDiscovery(_ filter: DiscoveryFilter) async throws(BLEError) {
            try checkReady()
            if info.features.contains(.scannerState) {
                let mode = filter.isPassive ? ScannerMode.passive : .active
                if scannerMode != mode { send(.setScannerMode(mode)) }
                scannerMode = mode
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
                self.filter = nil
                (scanStart, scanFault) = (nil, nil)
                try? setSubscription(false)
                throw error
            }
        }

        /// Ends the subscription.
        public func stopDiscovery() async throws(BLEError) {
            guard filter != nil else { return }
            filter = nil
            scanFault = nil
            try setSubscription(false)
        }

        /// Why the proxy does not scan for this central. Nil if it does, or was not asked to.
        public func scanObstacle() -> BLEError? { scanFault }

        static let isUsedByAnother = BLEError(
            .busy, "another client receives the proxy's advertisements",
            remedy: "Disconnect the other client, or restart the proxy.")
        private static let hasFailed = BLEError(
            .failed, "the proxy's scanner does not run", isRetryable: true, remedy: "Restart the proxy if it stays so.")

        /// Records whether the proxy scans, and why not.
        func scanChanged(_ fault: BLEError?) {
            guard filter != nil else { return }
            let isNew = fault?.code != scanFault?.code
            scanFault = fault
            scanStart?.deliver(.success(()))
            scanStart = nil
            guard isNew else { return }
            logger.info("the proxy's scanner", metadata: ["fault": "\(fault.map { "\($0)" } ?? "none")"])
            report(.radioChanged)
        }

        func scannerFailed(_ isTriedAgain: Bool) {
            guard let filter else { return }
            // A scanner that is given a mode starts again.
            if isTriedAgain { send(.setScannerMode(filter.isPassive ? .passive : .active)) }
            scanChanged(Self.hasFailed)
        }

        func receive(_ raw: RawAdvertisement) {
            guard let filter, filter.transport != .classic, let (id, advertisement) = heard.receive(raw) else { return }
            report(.advertisementReceived(id, advertisement))
            for id in heard.removeExcess(keeping: { links[$0] != nil }) { report(.peripheralRemoved(id)) }
        }
    }
#endif
