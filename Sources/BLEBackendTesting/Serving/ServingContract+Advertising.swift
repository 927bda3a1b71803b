import BLE
import Testing

extension ServingContract {
    func advertisedContent() async throws {
        try await withHost { host in
            let parameters = AdvertisingParameters(
                localName: "Contract", serviceUUIDs: [Self.service], manufacturerData: [0xFFFF: [1, 2, 3]])
            let advertising = Task { try await host.advertise(parameters) }
            try await withCentral { central in
                // The name may arrive later than the rest.
                let criteria = DiscoveryCriteria.service(Self.service) && .name(containing: "Contract")
                let content = try await central.first(matching: criteria, timeout: peer.timeout).advertisement
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
            // The advertising set is free again: there can be more advertisements, one after the other, than sets.
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

    func advertisingSets() async throws {
        try await withHost { host in
            let parameters = AdvertisingParameters(isConnectable: false, serviceUUIDs: [Self.service])
            let (started, refused) = (Noted(0), Noted<[BLEError]>([]))
            let events = await host.events()
            let counting = Task {
                for try await event in events {
                    if case .advertisingStarted = event { await started.change { $0 += 1 } }
                }
            }
            func begin() -> Task<Void, Never> {
                Task {
                    do throws(BLEError) {
                        try await host.advertise(parameters)
                    } catch {
                        if error.code != .cancelled { await refused.change { $0.append(error) } }
                    }
                }
            }
            // All programs share the few advertising sets of a controller.
            var running: [Task<Void, Never>] = []
            while await refused.value.isEmpty, running.count < 64 {
                running.append(begin())
                while await started.value + refused.value.count < running.count { await Task.yield() }
            }
            let refusal = await refused.value.first
            #expect(refusal?.code == .busy)
            #expect(refusal?.isRetryable == true)
            #expect(refusal?.remedy != nil)
            let count = await started.value
            #expect(count > 0)
            // The end of one advertisement makes room for another, and the others stay.
            running[0].cancel()
            await running[0].value
            running.append(begin())
            try await started.until { $0 == count + 1 }
            #expect(await refused.value.count == 1)
            for task in running { task.cancel() }
            for task in running { await task.value }
            counting.cancel()
            _ = await counting.result
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
