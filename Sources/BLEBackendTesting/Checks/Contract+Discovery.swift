import BLE
import BLEProfiles
import Testing

extension Contract {
    func advertisementFields() async throws {
        try await withCentral { central in
            // The name and the transmit power arrive with the scan response, after the rest.
            for try await event in central.discoveryEvents(duplicates: true) {
                guard case .found(let discovery) = event.asReport, discovery.peripheral.id == EchoStrap.id else {
                    continue
                }
                let advertisement = discovery.advertisement
                guard advertisement.localName != nil, advertisement.txPower != nil else { continue }
                #expect(advertisement.localName == EchoStrap.name)
                #expect(advertisement.txPower == 4)
                #expect(advertisement.rssi == -50)
                #expect(advertisement.serviceUUIDs.isSuperset(of: [.heartRate, .battery]))
                #expect(advertisement.manufacturerData == [0xFFFF: [1, 2, 3]])
                #expect(advertisement.serviceData == [.battery: [87]])
                #expect(advertisement.addressType == .random)
                #expect(advertisement.deviceClass == nil)
                return
            }
        }
    }

    func serviceFilter() async throws {
        try await withCentral { central in
            let found = try await find(central, matching: .service(.heartRate))
            #expect(found.advertisement.serviceUUIDs.contains(.heartRate))
            // A scan for something else finds nothing while a scan for everything does.
            let nothing = failing {
                for try await _ in central.discoveries(matching: .service(BluetoothUUID(0xFEED))) { return }
            }
            _ = try await find(central)
            nothing.cancel()
            #expect(await nothing.value?.code == .cancelled)
        }
    }

    func transports() async throws {
        try await withCentral { central in
            #expect(try await find(central, matching: .transport(.any)).peripheral.id == EchoStrap.id)
            // A scan for Classic devices does not find an LE peripheral, even while another scan does.
            let nothing = failing {
                for try await found in central.discoveries(matching: .transport(.classic))
                where found.peripheral.id == EchoStrap.id { return }
            }
            _ = try await find(central)
            nothing.cancel()
            #expect(await nothing.value?.code == .cancelled)
        }
    }

    func scanEnd() async throws {
        try await withCentral { central in
            _ = try await find(central)
            var states: [Bool] = []
            // The loop that ends does not wait for the scan to stop.
            repeat {
                await Task.yield()
                states.append(try await central.adapters().contains { $0.isDiscovering })
            } while states.last == true
            #expect(states.last == false)
        }
    }

    func strengthChanges() async throws {
        var expected = [-51, -52, -53, -52]
        try await peer.setStrength(expected[0])
        try await withCentral { central in
            for try await event in central.discoveryEvents(duplicates: true) {
                guard case .found(let discovery) = event.asReport, discovery.peripheral.id == EchoStrap.id,
                    discovery.advertisement.rssi == expected.first
                else { continue }
                expected.removeFirst()
                guard let next = expected.first else { return }
                try await peer.setStrength(next)
            }
        }
    }

    func unknownStrength() async throws {
        try await peer.setStrength(nil)
        try await withCentral { central in
            #expect(try await find(central).advertisement.rssi == nil)
            // An unknown signal strength does not meet a minimum.
            let nothing = failing {
                for try await found in central.discoveries(matching: .rssi(atLeast: -100))
                where found.peripheral.id == EchoStrap.id { return }
            }
            _ = try await find(central)
            nothing.cancel()
            #expect(await nothing.value?.code == .cancelled)
        }
    }

    func lostPeripherals() async throws {
        try await withCentral { central in
            for try await event in central.discoveryEvents(staleAfter: .seconds(1)) {
                switch event {
                case .found(let discovery) where discovery.peripheral.id == EchoStrap.id:
                    try await peer.setAdvertising(false)
                case .lost(let peripheral) where peripheral.id == EchoStrap.id:
                    return
                default: continue
                }
            }
        }
    }
}

extension DiscoveryEvent {
    /// The event, with `updated` changed to `found`.
    var asReport: DiscoveryEvent {
        if case .updated(let discovery) = self { .found(discovery) } else { self }
    }
}
