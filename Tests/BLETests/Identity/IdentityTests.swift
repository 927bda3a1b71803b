import BLEProfiles
import BLESimulation
import BLETestSupport
import Testing

@testable import BLE

/// Devices that a central recognizes by the keys of their private addresses.
@Suite(.hangLimit) struct IdentityTests {
    private let bench: Bench
    private var central: Central { bench.central }

    private static let watch = key(1)
    private static let phone = key(2)
    private static let stranger = key(3)

    init() async throws {
        bench = try await Bench()
        try await bench.central.setIdentities(["watch": Self.watch, "phone": Self.phone])
    }

    private static func key(_ byte: UInt8) -> IdentityResolvingKey {
        IdentityResolvingKey([UInt8](repeating: byte, count: 16))!
    }

    private static func id(_ key: IdentityResolvingKey, _ random: UInt32) -> Peripheral.ID {
        Peripheral.ID(rawValue: key.address(random: random).map { Hex.string([$0]) }.joined(separator: ":"))
    }

    private func hear(_ id: Peripheral.ID, _ type: AddressType? = .random) async {
        await bench.backend.emit(.advertisementReceived(id, Advertisement(rssi: -50, addressType: type)))
    }

    @Test func `a device is found by its name, under each of its addresses, and no other device is`() async throws {
        for random: UInt32 in 1...3 {
            let search = Task { try await central.first(matching: .identity("watch")) }
            await bench.backend.asked(.startDiscovery, Int(random))
            await hear("strap")
            await hear(Self.id(Self.stranger, random))
            await hear(Self.id(Self.phone, random))
            await hear(Self.id(Self.watch, random))
            let found = try await search.value
            #expect(found.id == Self.id(Self.watch, random))
            #expect(found.identity == "watch")
            await bench.backend.asked(.stopDiscovery, Int(random))
        }
    }

    @Test func `a scan tells the identity of each address, which is a peripheral of its own`() async throws {
        let told = SharedValue<[String]>([])
        let scan = Task { [central] in
            for try await event in central.discoveryEvents(staleAfter: .seconds(8)) {
                let text =
                    switch event {
                    case .found(let found): "\(found.id) is \(found.identity ?? "a stranger")"
                    case .lost(let peripheral): "\(peripheral.id) is lost"
                    case .updated, .waiting: "something else"
                    }
                told.change { $0.append(text) }
            }
        }
        await bench.backend.asked(.startDiscovery)
        let (old, new) = (Self.id(Self.watch, 1), Self.id(Self.watch, 2))
        await hear(old)
        await bench.clock.sleepers(1, for: .seconds(1))
        bench.clock.advance(by: .seconds(1))
        await hear("strap")
        await hear(new)
        try await told.until { $0 == ["\(old) is watch", "strap is a stranger", "\(new) is watch"] }
        // The address that is no longer used is silent.
        for _ in 2...8 {
            await bench.clock.sleepers(1, for: .seconds(1))
            bench.clock.advance(by: .seconds(1))
            await hear("strap")
            await hear(new)
        }
        try await told.until { $0.last == "\(old) is lost" }
        scan.cancel()
        _ = await scan.result
    }

    @Test func `several names are any of them, and other criteria must hold as well`() {
        let criteria = DiscoveryCriteria.identities(["watch", "phone"]) && .rssi(atLeast: -60)
        #expect(criteria.matches(Advertisement(rssi: -50), identity: "phone"))
        #expect(criteria.matches(Advertisement(rssi: -50), from: "strap", identity: "watch"))
        #expect(!criteria.matches(Advertisement(rssi: -70), identity: "watch"))
        #expect(!criteria.matches(Advertisement(rssi: -50), identity: "ring"))
        #expect(!criteria.matches(Advertisement(rssi: -50), from: "strap"))
    }

    @Test func `a name without a key is refused before a scan`() async throws {
        let central = central
        let criteria = DiscoveryCriteria.service(Bench.battery) && .identities(["watch", "ring"])
        let errors = [
            await expectError(.invalidArgument) { try await central.first(matching: criteria) },
            await expectError(.invalidArgument) { for try await _ in central.discoveries(matching: criteria) {} },
            await expectError(.invalidArgument) {
                _ = try await central.discoveries(matching: criteria, for: .seconds(1))
            },
        ]
        #expect(errors.allSatisfy { $0?.message.contains("ring") == true })
        #expect(await bench.backend.calls(.startDiscovery) == [])
        try await central.setIdentities(["ring": Self.stranger, "watch": Self.watch])
        let search = Task { try await central.first(matching: criteria && .identity("ring")) }
        await bench.backend.asked(.startDiscovery)
        search.cancel()
        _ = await search.result
    }

    @Test func `a scan whose name is removed ends, and the others go on`() async throws {
        let central = central
        let searches = ["watch", "phone"].map { name in
            Task { try await central.first(matching: .identity(name)) }
        }
        let connecting = Task {
            for try await _ in central.autoConnections(matching: .identities(["watch", "phone"])) {}
        }
        await until { await central.scanCount == 3 }
        try await central.setIdentities(["watch": Self.watch])
        let error = await expectError(.invalidArgument) { try await searches[1].value }
        #expect(error?.message.contains("phone") == true)
        await expectError(.invalidArgument) { try await connecting.value }
        await hear(Self.id(Self.watch, 1))
        #expect(try await searches[0].value.identity == "watch")
    }

    @Test func `a key that is added names what a scan has found already`() async throws {
        let ring = Self.id(Self.stranger, 1)
        let told = SharedValue<[String?]>([])
        let scan = Task { [central] in
            for try await event in central.discoveryEvents(staleAfter: nil) {
                switch event {
                case .found(let found), .updated(let found): told.change { $0.append(found.identity) }
                case .lost, .waiting: break
                }
            }
        }
        await bench.backend.asked(.startDiscovery)
        await hear(ring)
        try await told.until { $0 == [nil] }
        try await central.setIdentities(["ring": Self.stranger])
        await hear(ring)
        await hear(ring)
        try await told.until { $0 == [nil, "ring"] }
        scan.cancel()
        _ = await scan.result
    }

    @Test func `there are at most 256 keys`() async throws {
        func keys(_ count: Int) -> [String: IdentityResolvingKey] {
            Dictionary(uniqueKeysWithValues: (1...count).map { ("device \($0)", Self.watch) })
        }
        try await central.setIdentities(keys(256))
        await expectError(.invalidArgument) { try await central.setIdentities(keys(257)) }
        #expect(await central.identities.count == 256)
        var configuration = Central.Configuration.quiet()
        configuration.identities = keys(257)
        await expectError(.invalidArgument) {
            _ = try await Central(backend: ScriptedBackend(), configuration: configuration)
        }
    }

    @Test func `the keys are tried at the first advertisement of an address`() async throws {
        let search = Task { try await central.first(matching: .service(Bench.battery)) }
        await bench.backend.asked(.startDiscovery)
        for _ in 1...100 {
            for id in [Self.id(Self.watch, 1), Self.id(Self.stranger, 1), "C0:00:00:00:00:01", "strap"] {
                await hear(id)
            }
        }
        #expect(await central.resolver.triedCount == 2)
        search.cancel()
        _ = await search.result
    }

    @Test func `a public address is nobody's private one, although it may look so`() async throws {
        let search = Task { try await central.first(matching: .identity("watch")) }
        await bench.backend.asked(.startDiscovery)
        await hear(Self.id(Self.watch, 1), .public)
        await hear(Self.id(Self.watch, 2), nil)
        #expect(try await search.value.id == Self.id(Self.watch, 2))
    }

    @Test func `automatic connections follow a device to its next address`() async throws {
        let connected = SharedValue<[Peripheral.ID]>([])
        let loop = Task { [central] in
            for try await peripheral in central.autoConnections(matching: .identity("watch")) {
                connected.change { $0.append(peripheral.id) }
            }
        }
        await bench.backend.asked(.startDiscovery)
        var expected: [Peripheral.ID] = []
        for random: UInt32 in 1...2 {
            let id = Self.id(Self.watch, random)
            await hear(Self.id(Self.stranger, random))
            await hear(id)
            await bench.clock.sleepers(2, for: .seconds(1))
            bench.clock.advance(by: .seconds(1))
            expected.append(id)
            try await connected.until { [expected] in $0 == expected }
            await bench.backend.emit(.linkEnded(id, Bench.error(.disconnected)))
        }
        loop.cancel()
        _ = await loop.result
        #expect(await bench.backend.calls(.connect) == expected.map { .connect($0) })
    }

    @Test func `the keys of the configuration are known from the start, and on every radio`() async throws {
        let world = try await SimulatedWorld(adapters: 2)
        await world.central.shutDown()
        var configuration = Central.Configuration.quiet(clock: world.clock)
        configuration.identities = ["watch": Self.watch]
        let central = try await Central(
            radios: ["hci0", "hci1"].map { .simulated(world.radio, adapter: $0) }, configuration: configuration)
        let watch = await world.radio.add(.battery())
        await watch.setIdentityKey(Self.watch)
        let address = await watch.rotateAddress()
        let found = try await central.first(matching: .identity("watch"))
        #expect(found.id == address && found.radio != nil)
        #expect(try await found.peripheral.read(.batteryLevel) == 90)
        await central.shutDown()
    }

    @Test func `no description has a key`() {
        let identities = ["watch": IdentityResolvingKey((1...16).map { 0xA0 + $0 })!]
        var text = "\(identities) \(String(reflecting: identities))"
        dump(identities, to: &text)
        #expect(text.contains("key of 16 bytes"))
        for part in ["161", "162", "a1", "A1"] { #expect(!text.contains(part), "\(part)") }
    }
}

extension Central {
    /// The number of scans in progress.
    fileprivate var scanCount: Int { scanning.scans(without: "nobody").count }
}
