internal import BLE
internal import Logging

/// The scan for a Matter server.
extension MatterProxy {
    func startScan() {
        let number = number
        scan = Task { [weak self, central] in
            let error = await Self.follow(central) { [weak self] event in await self?.handle(event, number) }
            await self?.scanEnded(error, number)
        }
    }

    private enum ScanEvent: Sendable {
        case began
        case discovered(Discovery)
    }

    /// Scans until the task is cancelled, or the scan fails. Returns why it ended.
    ///
    /// It has begun when the radio has agreed to it. A scan goes on after the adapter was off; it does not begin
    /// without one.
    private static func follow(
        _ central: Central, _ handle: @Sendable (ScanEvent) async -> Void
    ) async -> BLEError {
        do throws(BLEError) {
            let scan = central.discoveryEvents(matching: .serviceData(MatterSession.service), duplicates: true)
            var events = scan.makeAsyncIterator()
            try await events.start()
            if let obstacle = await central.obstacle { return obstacle }
            await handle(.began)
            while let event = try await events.next() {
                switch event {
                case .found(let discovery), .updated(let discovery): await handle(.discovered(discovery))
                case .lost, .waiting: break
                }
            }
            return .cancelled
        } catch {
            return error
        }
    }

    private func handle(_ event: ScanEvent, _ number: Int) {
        guard number == self.number else { return }
        switch event {
        case .began: send(session?.scanBegan() ?? [])
        case .discovered(let discovery):
            let id = discovery.peripheral.id
            guard hasRoom else { return }
            if let frame = session?.discovered(id, discovery.advertisement) { send([frame]) }
        }
    }

    private func scanEnded(_ error: BLEError, _ number: Int) {
        guard number == self.number else { return }
        if !error.isCancellation {
            logger.info("the scan for the Matter server ended", metadata: ["error": "\(error)"])
        }
        scan = nil
        applying { $0.scanEnded(error) }
    }
}
