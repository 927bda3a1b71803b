import BLE
import BLEProfiles
import Testing

extension Contract {
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
