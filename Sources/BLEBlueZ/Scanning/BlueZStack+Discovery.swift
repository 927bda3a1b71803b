internal import BLE
internal import DBus
internal import Logging
internal import Loop
internal import Waiting

/// The discovery session of this connection, which outlasts the central that it was begun for until it has ended.
extension BlueZStack {
    /// Has bluetoothd scan, or changes what for. Returns the number of the wish, for ``endDiscovery(_:)``, and the wait
    /// for bluetoothd to scan; see ``DiscoverySession``.
    func wantDiscovery(_ filter: DiscoveryFilter, _ wish: Int? = nil) -> (wish: Int, start: Outcome<Void>) {
        defer { continueDiscovery() }
        return discovery.want(filter, wish)
    }

    /// Gives up the start of a wish, which ends, or has its former filter again.
    func giveUpDiscovery(_ wish: Int) {
        discovery.giveUpStart(wish)
        continueDiscovery()
    }

    /// Ends a wish, and with the last one the session.
    func endDiscovery(_ wish: Int) {
        discovery.end(wish)
        continueDiscovery()
    }

    /// Ends the wishes of a central that shuts down, or was released.
    func endDiscoveries() {
        discovery.endAll(.shutDown)
        continueDiscovery()
    }

    /// The wait until bluetoothd has no session that nobody wants.
    func discoveryEnd() -> Outcome<Void> {
        defer { continueDiscovery() }
        return discovery.sessionEnd()
    }

    private func continueDiscovery() {
        guard let first = discovery.begin() else { return }
        Task {
            var next: DiscoverySession.Step? = first
            while let step = next {
                await take(step)
                next = discovery.begin()
            }
        }
    }

    private func take(_ step: DiscoverySession.Step) async {
        // By the loop's clock: what a central leaves behind does not depend on who moves the central's.
        switch step {
        case .pause(let duration):
            try? await loop.clock.sleep(for: duration)
            discovery.endPause()
        case .call(let call):
            do throws(BLEError) {
                _ = try await self.call(method(call), during: .discovery)
                discovery.answered(.success(()), at: elapsed())
            } catch {
                logger.debug("bluetoothd's scan", metadata: ["call": "\(call)", "error": "\(error)"])
                discovery.answered(.failure(error), at: elapsed())
            }
        }
    }

    private func method(_ call: DiscoverySession.Call) -> MethodCall {
        switch call {
        case .start: BlueZ.call(choice.path, BlueZ.adapter, "StartDiscovery")
        case .stop: BlueZ.call(choice.path, BlueZ.adapter, "StopDiscovery")
        case .setFilter(let filter):
            BlueZ.call(
                choice.path, BlueZ.adapter, "SetDiscoveryFilter", .options(filter.map { options(for: $0) } ?? [:]))
        }
    }

    private func options(for filter: DiscoveryFilter) -> [String: DBusValue] {
        var options: [String: DBusValue] = [
            "Transport": .string(Self.name(of: filter.transport)),
            "DuplicateData": .boolean(true),
        ]
        // Every packet counts. Without a limit of either kind, BlueZ hides RSSI changes of less than 8 dB, see
        // `discovery_filter_has_proximity` in its `src/adapter.c`, and a silent peripheral would look the same as one
        // with a steady signal. With an RSSI limit, the kernel drops advertisements of unknown signal strength. The
        // kernel does not receive a path loss limit, and the highest one, 137 dB, accepts everything.
        if let minimum = filter.minimumRSSI {
            options["RSSI"] = .int16(Int16(clamping: max(-127, min(20, minimum))))
        } else {
            options["Pathloss"] = .uint16(137)
        }
        // Without service UUIDs in the filter, more is reported. The central filters in any case.
        if !filter.services.isEmpty, tree.adapters[choice.path]?.version?.crashesAtServiceFilters != true {
            options["UUIDs"] = .strings(filter.services.sorted().map(\.fullDescription))
        }
        return options
    }

    /// Returns bluetoothd's name of a transport.
    private static func name(of transport: Transport) -> String {
        switch transport {
        case .le: "le"
        case .classic: "bredr"
        case .any: "auto"
        }
    }
}
