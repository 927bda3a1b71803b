import BLE
import Testing

extension ServingContract {
    /// The content that a received advertisement has of a service's, until it has all.
    private func received(
        _ central: Central, until isComplete: (Advertisement) -> Bool
    ) async throws -> Advertisement {
        for try await discovery in central.discoveries(matching: .service(Self.service))
        where isComplete(discovery.advertisement) {
            return discovery.advertisement
        }
        throw BLEError(.peripheralNotFound, "the scan ended")
    }

    func advertisedContent() async throws {
        try await withHost { host in
            let parameters = AdvertisingParameters(
                localName: "Contract", serviceUUIDs: [Self.service], manufacturerData: [0xFFFF: [1, 2, 3]])
            let advertising = Task { try await host.advertise(parameters) }
            try await withCentral { central in
                let content = try await received(central) {
                    $0.localName != nil && !$0.manufacturerData.isEmpty && !$0.serviceUUIDs.isEmpty
                }
                #expect(content.localName == "Contract")
                #expect(content.manufacturerData == [0xFFFF: [1, 2, 3]])
                #expect(content.serviceUUIDs.contains(Self.service))
            }
            advertising.cancel()
            #expect(await error { try await advertising.value }?.code == .cancelled)
        }
    }

    func advertisingEnds() async throws {
        try await withHost { host in
            var events = await host.events().makeAsyncIterator()
            let advertising = Task {
                try await host.advertise(AdvertisingParameters(serviceUUIDs: [Self.service]))
            }
            guard case .advertisingStarted? = try await events.next() else { throw BLEError(.failed, "no start") }
            advertising.cancel()
            #expect(await error { try await advertising.value }?.code == .cancelled)
            // Its set is free again: more can be advertised, one after the other, than there are sets.
            for _ in 0..<6 {
                let again = Task { try await host.advertise(AdvertisingParameters(serviceUUIDs: [Self.service])) }
                guard case .advertisingStarted? = try await events.next() else { throw BLEError(.failed, "no start") }
                again.cancel()
                _ = await again.result
            }
        }
    }

    func advertisingExpires() async throws {
        try await withHost { host in
            // Returns without an error.
            try await host.advertise(AdvertisingParameters(serviceUUIDs: [Self.service], duration: .seconds(1)))
        }
    }

    func beacon() async throws {
        try await withHost { host in
            let beacon = AdvertisingParameters(isConnectable: false, serviceUUIDs: [Self.service])
            let advertising = Task { try await host.advertise(beacon) }
            try await withCentral { central in
                let remote = try await find(central)
                #expect(await error { try await remote.connect(timeout: .seconds(1)) } != nil)
                #expect(await host.connectedCentrals.isEmpty)
            }
            advertising.cancel()
            _ = await advertising.result
        }
    }

    func tooLongAdvertisement() async throws {
        try await withHost { host in
            let tooLong = AdvertisingParameters(manufacturerData: [0xFFFF: [UInt8](repeating: 1, count: 28)])
            let refused = await error { try await host.advertise(tooLong) }
            #expect(refused?.code == .invalidArgument)
            #expect(refused?.message.contains("manufacturer data") == true)
            var definition = Self.definition(Self.readable)
            definition.advertising = tooLong
            #expect(await error { try await host.serve(definition) }?.code == .invalidArgument)
        }
    }
}
