import BLE
import BLEProfiles
import Testing

extension Contract {
    func connectionStates() async throws {
        try await withCentral { central in
            let strap = try await find(central).peripheral
            let stream = await strap.connectionStates()
            let states = Task {
                var seen: [ConnectionState] = []
                for try await state in stream {
                    seen.append(state)
                    if seen.count > 1, state == .disconnected { break }
                }
                return seen
            }
            try await strap.connect()
            #expect(await strap.connectionState == .connected)
            let services = try await strap.services()
            #expect(
                Set(services.map(\.uuid)).isSuperset(of: [.heartRate, .battery, .deviceInformation, EchoStrap.service]))
            let echo = try #require(services[EchoStrap.service])
            #expect(echo[EchoStrap.input.key.characteristic]?.properties == [.write, .writeWithoutResponse])
            #expect(echo[EchoStrap.output.key.characteristic]?.properties == [.read, .notify, .indicate])
            #expect(
                echo[EchoStrap.output.key.characteristic].map { Set($0.descriptors.map(\.uuid)) } == [
                    BluetoothUUID(0x2901), BluetoothUUID(0x2902),
                ])
            let handles = services.flatMap { [$0.handle] + $0.characteristics.map(\.handle) }
            #expect(handles == handles.sorted())
            #expect(Set(handles).count == handles.count)
            try await strap.disconnect()
            #expect(await strap.connectionState == .disconnected)
            let seen = try await states.value
            #expect(seen.filter { $0 != .disconnecting } == [.disconnected, .connecting, .connected, .disconnected])
        }
    }

    func unknownPeripheral() async throws {
        try await withCentral { central in
            let nobody = central.peripheral("00:11:22:33:44:55")
            // On a busy machine, the search may not have begun after 2 s.
            var (timeout, failure) = (Duration.seconds(2), BLEError?.none)
            repeat {
                failure = await error { try await nobody.connect(timeout: timeout) }
                timeout *= 4
            } while failure?.code == .timedOut && timeout < peer.timeout * 4
            #expect(failure?.code == .peripheralNotFound)
            #expect(failure?.peripheral == nobody.id)
            #expect(failure?.remedy != nil)
            try await until(.disconnected, nobody)
        }
    }

    /// Connects with an id that another program has saved in another notation. No scan has found the peripheral.
    func savedID() async throws {
        try await withCentral { central in
            let text = EchoStrap.id.rawValue.lowercased().replacing(":", with: "-")
            let strap = central.peripheral(Peripheral.ID(rawValue: text))
            try await strap.connect()
            #expect(await strap.connectionState == .connected)
            try await strap.disconnect()
        }
    }

    /// The peripheral does not advertise, so it is known only by its link.
    func linkedPeripherals() async throws {
        try await withCentral { central in
            let strap = central.peripheral(EchoStrap.id)
            try await strap.connect()
            for try await found in central.discoveries(matching: .service(.heartRate))
            where found.peripheral == strap {
                #expect(found.advertisement.rssi == nil)
                break
            }
        }
    }

    func autoConnection() async throws {
        try await withCentral { central in
            var isFirst = true
            for try await strap in central.autoConnections(matching: .id(EchoStrap.id)) {
                #expect(await strap.connectionState == .connected)
                #expect(strap.id == EchoStrap.id)
                guard isFirst else { break }
                isFirst = false
                try await peer.disconnect()
            }
            // The stream was the only use of the link, which is now ended explicitly.
            let strap = central.peripheral(EchoStrap.id)
            try await strap.disconnect()
            #expect(await strap.connectionState == .disconnected)
        }
    }

    func invalidID() async throws {
        try await withCentral { central in
            let error = await error { try await central.peripheral("not an address").connect() }
            #expect(error?.code == .invalidArgument)
            #expect(error?.isRetryable == false)
        }
    }

    func vanishedPeripheral() async throws {
        try await withCentral { central in
            let strap = try await find(central).peripheral
            try await peer.setAdvertising(false)
            let error = await error { try await strap.connect(timeout: .seconds(1)) }
            #expect(error?.code == .timedOut)
            #expect(error?.peripheral == strap.id)
            try await until(.disconnected, strap)
            try await peer.setAdvertising(true)
            try await peer.until(connections: 0)
            try await strap.connect()
            #expect(await strap.connectionState == .connected)
        }
    }

    /// A connection handler can read immediately, on each link.
    func connectionHandlers() async throws {
        try await withCentral { central in
            let strap = central.peripheral(EchoStrap.id)
            let (links, link) = AsyncStream.makeStream(of: Int.self, bufferingPolicy: .bufferingNewest(8))
            await strap.setConnectionHandler { strap in
                let database = try await strap.services()
                _ = try await strap.read(EchoStrap.output)
                link.yield(database.count)
            }
            try await strap.setConnectionPolicy(.maintained())
            var runs = links.makeAsyncIterator()
            #expect(await runs.next() ?? 0 > 0)
            try await peer.disconnect()
            #expect(await runs.next() ?? 0 > 0)
            try await strap.disconnect()
            await strap.setConnectionHandler(nil)
        }
    }

    /// An operation that is ended by a disconnect of this side has the corresponding error.
    func disconnectDuringOperation() async throws {
        try await withStrap { strap in
            let reading = failing { _ = try await strap.read(EchoStrap.slow) }
            try await peer.untilHeld()
            try await strap.disconnect()
            let error = await reading.value
            #expect(error?.code == .disconnected)
            #expect(error?.disconnectReason == .local)
            try await peer.release()
        }
    }

    func cancelledConnect() async throws {
        try await withCentral { central in
            let strap = try await find(central).peripheral
            try await peer.setAdvertising(false)
            let connecting = failing { try await strap.connect() }
            try await until(.connecting, strap)
            connecting.cancel()
            #expect(await connecting.value?.code == .cancelled)
            try await until(.disconnected, strap)
            try await peer.setAdvertising(true)
            // If the attempt was not cancelled, it would connect now.
            _ = try await find(central)
            try await peer.until(connections: 0)
            #expect(await central.knownPeripherals().first { $0.id == strap.id }?.isConnected == false)
        }
    }

    func disconnectDuringConnect() async throws {
        try await withCentral { central in
            let strap = try await find(central).peripheral
            try await peer.setAdvertising(false)
            let connecting = failing { try await strap.connect() }
            try await until(.connecting, strap)
            try await strap.disconnect()
            #expect(await connecting.value?.code == .connectionCancelled)
            #expect(await strap.connectionState == .disconnected)
            try await peer.setAdvertising(true)
            try await strap.connect()
        }
    }

    func linkEnd(_ end: () async throws -> Void) async throws {
        try await withStrap { strap in
            let values = try await strap.notifications(EchoStrap.output)
            let stream = failing { for try await _ in values {} }
            let reading = failing { _ = try await strap.read(EchoStrap.slow) }
            try await peer.untilHeld()
            try await end()
            let error = await reading.value
            #expect(error?.code == .disconnected)
            #expect(error?.peripheral == strap.id)
            #expect(error?.characteristic == EchoStrap.slow.key.characteristic)
            #expect(error?.isRetryable == true)
            #expect(await stream.value?.code == .disconnected)
            try await until(.disconnected, strap)
        }
    }

    func reconnect() async throws {
        try await withStrap { strap in
            for _ in 0..<2 {
                try await peer.disconnect()
                try await until(.disconnected, strap)
                #expect(try await strap.read(.batteryLevel) == 87)
                #expect(await strap.connectionState == .connected)
            }
            try await strap.disconnect()
            try await peer.until(connections: 0)
            #expect(try await strap.read(.batteryLevel) == 87)
        }
    }

    func shutDown() async throws {
        let central = try await peer.makeCentral(
            Central.Configuration(connectTimeout: peer.timeout, operationTimeout: peer.timeout))
        let strap = try await find(central).peripheral
        let values = try await strap.notifications(EchoStrap.output)
        let stream = failing { for try await _ in values {} }
        let reading = failing { _ = try await strap.read(EchoStrap.slow) }
        try await peer.untilHeld()
        await central.shutDown()
        #expect(await reading.value?.code == .shutDown)
        #expect(await stream.value?.code == .shutDown)
        try await peer.until(connections: 0)
        #expect(await error { try await strap.connect() }?.code == .shutDown)
    }
}
