import BLE
import BLEProfiles
import Testing

extension Contract {
    func packetLength() async throws {
        try await withStrap { strap in
            #expect(try await strap.attMTU() == EchoStrap.packetLength)
            let longest = try await strap.maximumWriteLength(for: .withoutResponse)
            #expect(longest == EchoStrap.packetLength - 3)
            #expect(try await strap.maximumWriteLength(for: .withResponse) == 512)
            let value = (0..<longest).map { UInt8(truncatingIfNeeded: $0) }
            try await strap.write(value, to: EchoStrap.input, type: .withoutResponse)
            // A request after a command is answered after the command has taken effect.
            #expect(try await strap.read(EchoStrap.output) == value)
            let tooLong = await error {
                try await strap.write(value + [0], to: EchoStrap.input, type: .withoutResponse)
            }
            #expect(tooLong?.code == .invalidLength)
            #expect(tooLong?.characteristic == EchoStrap.input.key.characteristic)
            #expect(try await peer.written() == value)
            try await strap.write(value + [0], to: EchoStrap.input)
            #expect(try await peer.written() == value + [0])
        }
    }

    private func checkSystemProperties(_ strap: Peripheral) async throws {
        guard let expected = peer.systemProperties else {
            let error = await error { _ = try await strap.systemProperties() }
            #expect(error?.code == .notSupported)
            return
        }
        let properties = try await strap.systemProperties()
        #expect(properties.filter { expected[$0.key] != nil } == expected)
        let unknown = await error { _ = try await strap.central.peripheral("00:00:5E:00:53:99").systemProperties() }
        #expect(unknown?.code == .peripheralNotFound)
    }

    func signalStrength() async throws {
        try await withStrap { strap in
            try await checkSystemProperties(strap)
            if peer.measuresSignalStrength {
                #expect(-127...20 ~= (try await strap.signalStrength()))
            } else {
                let unknown = await error { _ = try await strap.signalStrength() }
                #expect(unknown?.code == .notSupported)
                #expect(unknown?.isRetryable == false)
                #expect(unknown?.peripheral == strap.id)
            }
            #expect(await strap.connectionState == .connected)
        }
    }

    func connectedByService() async throws {
        try await withCentral { central in
            let strap = try await find(central).peripheral
            #expect(await central.connectedPeripherals() == [])
            try await strap.connect()
            #expect(await central.connectedPeripherals() == [strap])
            #expect(await central.connectedPeripherals(with: .heartRate) == [strap])
            // The peripheral does not advertise this service, which was discovered on the link.
            #expect(await central.connectedPeripherals(with: EchoStrap.service) == [strap])
            #expect(await central.connectedPeripherals(with: BluetoothUUID(0xFEED)) == [])
            try await strap.disconnect()
            #expect(await central.connectedPeripherals(with: .heartRate) == [])
        }
    }

    func controlPoint() async throws {
        try await withStrap { strap in
            #expect(try await strap.request([1, 2], on: EchoStrap.controlPoint) == [0x20, 1, 2])
            // Nothing remains of the first request, and other subscriptions are not disturbed.
            let values = try await strap.notifications(EchoStrap.controlPoint)
            #expect(try await strap.request([3], on: EchoStrap.controlPoint) == [0x20, 3])
            #expect(try await strap.request([0xEE], on: EchoStrap.controlPoint) == [0xEE])
            #expect(
                try await strap.request([0xEE, 5], on: EchoStrap.controlPoint) { $0.count == 3 } == [0x20, 0xEE, 5])
            var seen: [[UInt8]] = []
            for try await value in values {
                seen.append(value)
                if seen.count == 5 { break }
            }
            // The second value of the first 0xEE request may arrive after the first value of the next one.
            #expect(seen.count { $0 == [0xEE] } == 2)
            #expect(seen.filter { $0 != [0xEE] } == [[0x20, 3], [0x20, 0xEE], [0x20, 0xEE, 5]])
        }
    }

    func unansweredRequests() async throws {
        try await withStrap { strap in
            let late = await error {
                _ = try await strap.request([0xFF], on: EchoStrap.controlPoint, timeout: .milliseconds(500))
            }
            #expect(late?.code == .timedOut)
            #expect(late?.characteristic == EchoStrap.controlPoint.key.characteristic)
            #expect(try await strap.request([1], on: EchoStrap.controlPoint) == [0x20, 1])
            let silent = await error { _ = try await strap.request([1], on: EchoStrap.input) }
            #expect(silent?.code == .notSupported)

            let (announced, announcement) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            let waiting = failing {
                _ = try await strap.request([0xEE], on: EchoStrap.controlPoint) { _ in
                    announcement.yield()
                    return false
                }
            }
            for await _ in announced { break }
            let second = await error { _ = try await strap.request([1], on: EchoStrap.controlPoint) }
            #expect(second?.code == .requestInProgress)
            try await peer.disconnect()
            #expect(await waiting.value?.code == .disconnected)
        }
    }
}
