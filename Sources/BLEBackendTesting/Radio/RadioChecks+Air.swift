import BLE
import BLESimulation
import Testing

/// Private addresses, and what is between the peripheral and the central.
extension RadioChecks {
    /// Rotates the address, and lets the former one be forgotten (`TemporaryTimeout` of bluetoothd's main.conf).
    private func rotateAddress() async -> Peripheral.ID {
        let address = await device.rotateAddress()
        await forgetFormerAddress()
        return address
    }

    private func forgetFormerAddress() async {
        await clock.sleepers(for: .seconds(30))
        clock.advance(by: .seconds(30))
    }

    /// The id of what a new scan hears first.
    private func heard(_ central: Central) async throws -> Peripheral.ID {
        await untilSilent()
        return try await central.first(matching: .any, timeout: peer.timeout).peripheral.id
    }

    func strangers() async throws {
        try await contract.withCentral { central in
            #expect(try await heard(central) == EchoStrap.id)
            await untilSilent()
            let address = await device.rotateAddress()
            let found = try await central.first(matching: .any, timeout: peer.timeout).peripheral
            #expect(found.id == address)
            #expect(try await found.read(EchoStrap.twin) == Array("first".utf8))
            #expect(await central.knownPeripherals().contains { $0.id == EchoStrap.id })
            await forgetFormerAddress()
            while await central.knownPeripherals().contains(where: { $0.id == EchoStrap.id }) { await Task.yield() }
            #expect(await central.knownPeripherals().contains { $0.id == address })
        }
    }

    func bondedAddresses() async throws {
        let first = await rotateAddress()
        try await contract.withCentral { central in
            let strap = try await central.first(matching: .any, timeout: peer.timeout).peripheral
            #expect(strap.id == first)
            try await strap.connect()
            #expect(try await strap.pairingState().identity == first)
            try await strap.pair()
            #expect(try await strap.pairingState().identity == EchoStrap.id)
            #expect(try await strap.systemProperties()["Address"] == .text(EchoStrap.id.rawValue))
            try await strap.disconnect()
            for _ in 1...2 { _ = await rotateAddress() }
            #expect(try await heard(central) == first)
            #expect(try await strap.read(EchoStrap.twin) == Array("first".utf8))
            #expect(await device.isConnected)
            try await strap.disconnect()
            await forgetFormerAddress()
        }
        // When it starts anew, it knows the identity address only.
        try await peer.stopBluetooth()
        try await peer.restartBluetooth()
        try await contract.withCentral { central in
            #expect(try await heard(central) == EchoStrap.id)
            let strap = central.peripheral(EchoStrap.id)
            try await strap.connect()
            #expect(try await strap.read(EchoStrap.twin) == Array("first".utf8))
            #expect(try await strap.isPaired)
        }
    }

    func addressesOfLinks() async throws {
        try await contract.withStrap { strap in
            let address = await rotateAddress()
            #expect(try await strap.read(EchoStrap.twin) == Array("first".utf8))
            await device.dropLink()
            try await contract.until(.disconnected, strap)
            await forgetFormerAddress()
            #expect(try await heard(strap.central) == address)
        }
    }

    func identities() async throws {
        guard let key = IdentityResolvingKey([UInt8](repeating: 0x5A, count: 16)) else { return }
        try await contract.withCentral { central in
            // Before the device has the key, its addresses are those of a stranger.
            try await central.setIdentities(["strap": key])
            #expect(try await central.first(matching: .any, timeout: peer.timeout).identity == nil)
            await device.setIdentityKey(key)
            for _ in 1...2 {
                await untilSilent()
                let address = await device.rotateAddress()
                let found = try await central.first(matching: .identity("strap"), timeout: peer.timeout)
                #expect(found.id == address && found.identity == "strap")
                #expect(try await found.peripheral.read(EchoStrap.twin) == Array("first".utf8))
                // Without a scan: it has a link now.
                #expect(try await central.first(matching: .identity("strap"), timeout: peer.timeout).id == address)
                try await found.peripheral.disconnect()
                await forgetFormerAddress()
            }
        }
    }

    func distance() async throws {
        try await contract.withCentral { central in
            await device.play(meters: [(0, 1)])
            let near = try await central.first(matching: .any, timeout: peer.timeout)
            #expect(near.advertisement.rssi == -59)
            await untilSilent()
            await device.play(meters: [(0, 10)])
            let far = try await central.first(matching: .any, timeout: peer.timeout)
            #expect(far.advertisement.rssi == -79)
        }
    }

    func loss() async throws {
        try await contract.withStrap { strap in
            await device.play(loss: [(0, 1)], seed: 7)
            // The supervision timeout of the kernel.
            while await device.isConnected {
                clock.advance(by: .milliseconds(50))
                await Task.yield()
            }
            try await contract.until(.disconnected, strap)
            #expect(await contract.error { try await strap.connect(timeout: Self.deadline) }?.code == .timedOut)
            await device.play(loss: [(0, 0)], seed: 7)
            try await peer.until(connections: 0)
            try await strap.connect()
        }
    }

    func connectionEvents() async throws {
        try await contract.withStrap { strap in
            var values = try await strap.notifications(EchoStrap.output).makeAsyncIterator()
            await device.setConnectionInterval(Self.delay, supervisionTimeout: .seconds(6))
            for value in 1...3 as ClosedRange<UInt8> { try await device.notify([value], from: EchoStrap.output) }
            await clock.sleepers()
            clock.advance(by: Self.delay)
            for expected in 1...3 as ClosedRange<UInt8> { #expect(try await values.next() == [expected]) }
            let start = clock.now
            let read = contract.failing { _ = try await strap.read(EchoStrap.twin) }
            let advancing = Task {
                while !Task.isCancelled {
                    clock.advance(by: .milliseconds(50))
                    await Task.yield()
                }
            }
            #expect(await read.value == nil)
            // The request and its answer cross at two events.
            #expect(start.duration(to: clock.now) >= Self.delay)
            advancing.cancel()
            await advancing.value
            await device.setConnectionInterval(nil)
        }
    }

    func scanResponse() async throws {
        let service = BluetoothUUID(0xFFF7)
        await device.setScanResponse(Advertisement(serviceUUIDs: [service]))
        try await contract.withCentral { central in
            let found = try await central.first(matching: .service(service), timeout: peer.timeout)
            #expect(found.peripheral.id == EchoStrap.id)
            #expect(found.advertisement.serviceUUIDs.isSuperset(of: [service, BluetoothUUID(0x180D)]))
        }
    }
}
