import BLE
import BLEProfiles
import Testing

extension Contract {
    func powerOff() async throws {
        try await withStrap { strap in
            let central = strap.central
            let values = try await strap.notifications(EchoStrap.output)
            let stream = failing { for try await _ in values {} }
            var states = await central.adapterStates().makeAsyncIterator()
            #expect(try await states.next() == .poweredOn)
            try await peer.setPowered(false)
            #expect(await stream.value?.code == .disconnected)
            #expect(try await states.next() == .poweredOff)
            #expect(await error { try await strap.connect() }?.code == .poweredOff)
            // A call for a single result does not wait.
            let calls: [() async throws -> Void] = [
                { _ = try await central.first(matching: .any) },
                { _ = try await central.first(HeartRate.self) },
                { _ = try await central.discoveries(for: peer.timeout) },
                { _ = try await central.read(.batteryLevel) },
                { try await central.write([1], to: EchoStrap.input) },
                { _ = try await central.notifications(.heartRateMeasurement) },
                {
                    try await central.withDeadline(peer.timeout) { _ = try await central.first(matching: .any) }
                },
            ]
            for call in calls { #expect(await error(of: call)?.code == .poweredOff) }
            // A scan that is requested while the adapter is off reports that, and starts when the adapter is on.
            var events = central.discoveryEvents().makeAsyncIterator()
            let obstacle: BLEError? = if case .waiting(let error)? = try await events.next() { error } else { nil }
            #expect(obstacle?.code == .poweredOff)
            try await peer.setPowered(true)
            #expect(try await states.next() == .poweredOn)
            while let event = try await events.next() {
                if case .found(let found) = event, found.peripheral == strap { break }
            }
            #expect(try await Battery(strap).level() == 87)
        }
    }

    /// Reads the events of a scan until it waits for `reason` and has lost the strap.
    ///
    /// The strap may be lost, found and lost again: a bluetoothd that is told to switch the adapter off first removes
    /// the devices that it has only heard, and may hear one of them again before the kernel switches it off.
    private func untilWaiting(
        _ events: inout DiscoveryEvents.Iterator, for reason: BLEError.Code, losing strap: Peripheral
    ) async throws {
        var reasons: [BLEError.Code] = []
        var isLost = false
        while reasons.last != reason || !isLost, let event = try await events.next() {
            switch event {
            case .waiting(let error): reasons.append(error.code)
            case .lost(strap): isLost = true
            case .found(let discovery) where discovery.peripheral == strap: isLost = false
            case .found, .updated, .lost: break
            }
        }
        // An adapter may be switched off before it is unplugged.
        #expect(reasons.filter { $0 != .poweredOff || reason == .poweredOff } == [reason])
    }

    private func untilFound(_ strap: Peripheral, _ events: inout DiscoveryEvents.Iterator) async throws {
        while let event = try await events.next() {
            if case .found(let discovery) = event, discovery.peripheral == strap { return }
        }
    }

    /// Something that keeps scans waiting.
    private struct Obstacle {
        let reason: BLEError.Code
        let begin: () async throws -> Void
        let end: () async throws -> Void
    }

    private var obstacles: [Obstacle] {
        [
            Obstacle(reason: .poweredOff) {
                try await peer.setPowered(false)
            } end: {
                try await peer.setPowered(true)
            },
            Obstacle(reason: .poweredOff) {
                try await peer.setBlocked(true)
            } end: {
                try await peer.setBlocked(false)
            },
            Obstacle(reason: .adapterNotFound, begin: peer.unplug, end: peer.plug),
            Obstacle(reason: .bluetoothLost, begin: peer.stopBluetooth, end: peer.restartBluetooth),
        ]
    }

    func waitingScans() async throws {
        try await withCentral { central in
            let strap = try await find(central).peripheral
            for obstacle in obstacles {
                let reason = obstacle.reason
                var running = central.discoveryEvents(staleAfter: .seconds(1)).makeAsyncIterator()
                try await untilFound(strap, &running)
                #expect(await central.isScanning)
                try await obstacle.begin()
                try await untilWaiting(&running, for: reason, losing: strap)
                #expect(await central.isScanning == false)
                // A scan that is requested now says so first.
                var later = central.discoveryEvents(staleAfter: nil).makeAsyncIterator()
                let first = try await later.next()
                let waiting: BLEError? = if case .waiting(let error)? = first { error } else { nil }
                #expect(waiting?.code == reason, "\(String(describing: first))")
                #expect(waiting?.remedy != nil)
                // A call for a single result throws at once, except while Bluetooth restarts.
                let isRestarting = reason == .bluetoothLost
                let limit = isRestarting ? .seconds(1) : peer.timeout
                let found = await error { _ = try await central.first(matching: .any, timeout: limit) }
                #expect(found?.code == (isRestarting ? .timedOut : reason))
                if isRestarting { #expect((found?.cause as? BLEError)?.code == reason) }
                #expect(await error { _ = try await central.discoveries(for: limit) }?.code == reason)
                try await obstacle.end()
                try await untilFound(strap, &running)
                try await untilFound(strap, &later)
                while await !central.isScanning { await Task.yield() }
            }
        }
    }

    /// A central that starts while the adapter is off scans once it is on.
    func startWhileOff() async throws {
        try await peer.setPowered(false)
        try await withCentral { central in
            #expect(await central.adapterState == .poweredOff)
            var events = central.discoveryEvents().makeAsyncIterator()
            let obstacle: BLEError? = if case .waiting(let error)? = try await events.next() { error } else { nil }
            #expect(obstacle?.code == .poweredOff)
            try await peer.setPowered(true)
            try await untilFound(central.peripheral(EchoStrap.id), &events)
        }
    }

    /// A blocked adapter cannot be switched on.
    func blockedAdapter() async throws {
        try await withCentral { central in
            var states = await central.adapterStates().makeAsyncIterator()
            #expect(try await states.next() == .poweredOn)
            try await peer.setBlocked(true)
            #expect(try await states.next() == .poweredOff)
            let refused = await error { try await central.setPowered(true) }
            #expect(refused?.code == .blocked)
            #expect(refused?.remedy != nil)
            try await peer.setBlocked(false)
            #expect(try await states.next() == .poweredOn)
        }
    }

    func deathOfBluetooth() async throws {
        try await withStrap { strap in
            let central = strap.central
            let values = try await strap.notifications(EchoStrap.output)
            let tasks = [
                failing { for try await _ in values {} },
                failing { _ = try await strap.read(EchoStrap.slow) },
            ]
            try await peer.untilHeld()
            try await peer.stopBluetooth()
            for task in tasks {
                let error = await task.value
                #expect(error?.code == .bluetoothLost)
                #expect(error?.isRetryable == true)
            }
            #expect(await strap.connectionState == .disconnected)
            #expect(await central.adapterState == .resetting)
            // Requests wait until Bluetooth is back.
            let scan = Task { try await find(central).peripheral }
            let connecting = Task { try await strap.connect() }
            try await peer.restartBluetooth()
            #expect(try await scan.value == strap)
            do {
                try await connecting.value
            } catch let error as BLEError where error.isRetryable {
                // The recovery may begin by ending links, including this one.
                try await strap.connect()
            }
        }
    }

    func restart() async throws {
        try await withStrap { strap in
            let central = strap.central
            var states = await central.adapterStates().makeAsyncIterator()
            #expect(try await states.next() == .poweredOn)
            try await peer.stopBluetooth()
            #expect(try await states.next() == .resetting)
            try await peer.restartBluetooth()
            while try await states.next() != .poweredOn {}
            let found = try await find(central).peripheral
            #expect(found == strap)
            let beats = try await HeartRate(found).measurements()
            for try await _ in beats { break }
        }
    }

    // MARK: Adapters

    private func adapter(_ central: Central) async throws -> Adapter {
        try #require(try await central.adapters().first { $0.isInUse })
    }

    func switchedAdapter() async throws {
        try await withStrap { strap in
            let central = strap.central
            #expect(try await adapter(central).isPowered)
            // The adapter is already on.
            try await central.setPowered(true)
            var states = await strap.connectionStates().makeAsyncIterator()
            #expect(try await states.next() == .connected)
            try await central.setPowered(false)
            #expect(try await adapter(central).isPowered == false)
            #expect(await central.adapterState == .poweredOff)
            #expect(try await states.next() == .disconnected)
            #expect(await error { try await strap.connect() }?.code == .poweredOff)
            try await central.setPowered(true, adapter: try await adapter(central).id)
            #expect(await central.adapterState == .poweredOn)
            #expect(try await find(central).peripheral == strap)
            #expect(try await Battery(strap).level() == 87)
        }
    }

    func namedAdapter() async throws {
        try await withCentral { central in
            let own = try await adapter(central).name
            // The maximum is 247 bytes.
            for name in ["Gateway", String(repeating: "é", count: 123) + "x"] {
                try await central.setAlias(name)
                #expect(try await adapter(central).name == name)
            }
            let tooLong = await error { try await central.setAlias(String(repeating: "x", count: 248)) }
            #expect(tooLong?.code == .invalidLength)
            try await central.setAlias("")
            #expect(try await adapter(central).name == own)
        }
    }

    func unknownAdapter() async throws {
        try await withCentral { central in
            let power = await error { try await central.setPowered(true, adapter: "hci17") }
            #expect(power?.code == .adapterNotFound)
            #expect(power?.remedy != nil)
            #expect(await error { try await central.setAlias("x", adapter: "hci17") }?.code == .adapterNotFound)
            #expect(await central.adapterState == .poweredOn)
        }
    }
}
