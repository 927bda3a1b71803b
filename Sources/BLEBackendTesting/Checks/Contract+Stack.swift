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
}
