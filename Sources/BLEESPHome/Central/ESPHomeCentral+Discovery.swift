#if Loop
    public import BLE
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
        /// Throws `busy` if the proxy does not confirm the subscription, even after it was repeated after 10, 30 and 60
        /// seconds: another client has it. Throws `notSupported` if a passive scan is requested of a proxy that does
        /// not report its mode.
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
            subscription = (outcome, 0)
            do throws(BLEError) {
                try setSubscription(true)
                try await outcome.wait()
            } catch {
                self.filter = nil
                subscription = nil
                try? setSubscription(false)
                throw error
            }
        }

        /// Ends the subscription.
        public func stopDiscovery() async throws(BLEError) {
            guard filter != nil else { return }
            filter = nil
            try setSubscription(false)
        }

        /// The number of unanswered subscriptions after which the proxy counts as in use by another client.
        private static let maximumMisses = 3

        func subscriptionUnanswered() {
            guard var waiting = subscription else { return }
            waiting.misses += 1
            subscription = waiting
            guard waiting.misses >= Self.maximumMisses else { return }
            waiting.outcome.deliver(
                .failure(
                    BLEError(
                        .busy, "another client receives the proxy's advertisements",
                        remedy: "Disconnect the other client, or restart the proxy.")))
        }

        func receive(_ raw: RawAdvertisement) {
            guard let filter, filter.transport != .classic, let (id, advertisement) = heard.receive(raw) else { return }
            report(.advertisementReceived(id, advertisement))
            for id in heard.removeExcess(keeping: { links[$0] != nil }) { report(.peripheralRemoved(id)) }
        }
    }
#endif
