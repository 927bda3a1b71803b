import BLE
import Testing

extension ServingContract {
    func centrals() async throws {
        try await withHost { host in
            var events = await host.events().makeAsyncIterator()
            try await host.withServed(Self.definition(Self.readable)) { _ in
                try await withCentral { central in
                    let remote = try await find(central)
                    try await remote.connect()
                    try await until(&events) { if case .centralConnected = $0 { true } else { false } }
                    #expect(await host.connectedCentrals.count == 1)
                    try await remote.disconnect()
                    try await until(&events) { if case .centralDisconnected = $0 { true } else { false } }
                    #expect(await host.connectedCentrals.isEmpty)
                }
            }
        }
    }

    func disconnection() async throws {
        try await withServed(Self.definition(Self.readable)) { host, _, remote in
            _ = try await remote.read(Self.plain)
            let central = try #require(await host.connectedCentrals.first)
            try await host.disconnect(central)
            try await eventually { await host.connectedCentrals.isEmpty }
            try await eventually { await remote.connectionState != .connected }
            // Without a link, disconnecting does nothing.
            try await host.disconnect(central)
            let value = try await remote.read(Self.plain)
            #expect(value == [1, 2, 3])
        }
    }

    func endedLinks() async throws {
        let (ended, end) = AsyncStream.makeStream(of: DeviceID.self, bufferingPolicy: .bufferingNewest(4))
        var definition = Self.definition(Self.readable)
        definition.services[0].onDisconnect = { end.yield($0) }
        try await withHost { host in
            try await host.withServed(definition) { _ in
                try await withCentral { central in
                    let remote = try await find(central)
                    for _ in 0..<2 {
                        _ = try await remote.read(Self.plain)
                        let connected = await host.connectedCentrals
                        try await remote.disconnect()
                        var iterator = ended.makeAsyncIterator()
                        let told = await iterator.next()
                        #expect(Set([told]) == connected)
                    }
                }
            }
        }
    }

    func together() async throws {
        let other = BluetoothUUID(0xFFD0)
        let second = PeripheralDefinition(
            advertisement: Self.advertisement(other),
            services: [
                ServiceDefinition(
                    other, characteristics: [CharacteristicDefinition(Self.plain.uuid, .read, value: [9])])
            ])
        try await withServed(Self.definition(Self.readable)) { host, _, remote in
            let plain = Characteristic<[UInt8]>(Self.plain.uuid, service: other)
            try await host.withServed(second) { _ in
                try await eventually { try await remote.read(plain) == [9] }
                #expect(try await remote.read(Self.plain) == [1, 2, 3])
            }
            try await eventually { try await remote.services().contains { $0.uuid == other } == false }
            #expect(try await remote.read(Self.plain) == [1, 2, 3])
        }
    }

    /// Waits until a condition holds. Errors of the condition are ignored.
    func eventually(_ holds: () async throws -> Bool) async throws {
        while (try? await holds()) != true {
            try Task.checkCancellation()
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    func servingEnds() async throws {
        try await withHost { host in
            let definition = Self.definition(Self.readable)
            for _ in 0..<3 {
                var events = await host.events().makeAsyncIterator()
                let serving = Task { try await host.serve(definition) }
                guard case .advertisingStarted? = try await events.next() else { throw BLEError(.failed, "no start") }
                serving.cancel()
                #expect(await error { try await serving.value }?.code == .cancelled)
            }
        }
    }

    func subscriptionsAfterRestart() async throws {
        try await withHost { host in
            var events = await host.events().makeAsyncIterator()
            try await host.withServed(Self.definition(Self.notifying)) { served in
                try await withCentral { central in
                    let values = try await find(central).notifications(Self.output)
                    try await until(&events) { if case .subscribed = $0 { true } else { false } }
                    try await peer.restartStack()
                    try await until(&events) { if case .unsubscribed = $0 { true } else { false } }
                    #expect(try await served.subscribers(of: Self.output).isEmpty)
                    try await until(&events) { if case .advertisingStarted = $0 { true } else { false } }
                    withExtendedLifetime(values) {}
                }
                // A central that subscribes again receives values again.
                try await withCentral { central in
                    var values = try await find(central).notifications(Self.output).makeAsyncIterator()
                    try await until(&events) { if case .subscribed = $0 { true } else { false } }
                    try await served.notify([5, 5], from: Self.output)
                    #expect(try await values.next() == [5, 5])
                }
            }
        }
    }

    func restart() async throws {
        try await withHost { host in
            var events = await host.events().makeAsyncIterator()
            try await host.withServed(Self.definition(Self.readable)) { _ in
                try await peer.restartStack()
                try await until(&events) { if case .servicesRestored = $0 { true } else { false } }
                try await until(&events) { if case .advertisingStarted = $0 { true } else { false } }
                try await withCentral { central in
                    let value = try await find(central).read(Self.plain)
                    #expect(value == [1, 2, 3])
                }
            }
        }
    }

    func powerOff() async throws {
        try await withHost { host in
            var events = await host.events().makeAsyncIterator()
            try await host.withServed(Self.definition(Self.readable)) { _ in
                try await peer.setPowered(false)
                try await until(&events) { if case .advertisingEnded = $0 { true } else { false } }
                try await peer.setPowered(true)
                try await until(&events) { if case .advertisingStarted = $0 { true } else { false } }
                try await withCentral { central in
                    let value = try await find(central).read(Self.plain)
                    #expect(value == [1, 2, 3])
                }
            }
        }
    }

    func unplugging() async throws {
        try await withHost { host in
            var events = await host.events().makeAsyncIterator()
            try await host.withServed(Self.definition(Self.readable)) { _ in
                try await peer.setPresent(false)
                try await until(&events) { if case .servicesLost = $0 { true } else { false } }
                try await peer.setPresent(true)
                try await until(&events) { if case .servicesRestored = $0 { true } else { false } }
                try await until(&events) { if case .advertisingStarted = $0 { true } else { false } }
                try await withCentral { central in
                    let value = try await find(central).read(Self.plain)
                    #expect(value == [1, 2, 3])
                }
            }
        }
    }

    func shutDown() async throws {
        try await withHost { host in
            var events = await host.events().makeAsyncIterator()
            let serving = Task { try await host.serve(Self.definition(Self.readable)) }
            guard case .advertisingStarted? = try await events.next() else { throw BLEError(.failed, "no start") }
            await host.shutDown()
            #expect(await error { try await serving.value }?.code == .shutDown)
            let end = await error { _ = try await events.next() }
            #expect(end?.code == .shutDown)
            let refused = await error { try await host.serve(Self.definition(Self.readable)) }
            #expect(refused?.code == .shutDown)
        }
        // A new host can serve again.
        try await withServed(Self.definition(Self.readable)) { _, _, remote in
            let value = try await remote.read(Self.plain)
            #expect(value == [1, 2, 3])
        }
    }
}
