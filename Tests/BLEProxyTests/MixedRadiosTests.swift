import BLE
import BLEBackendTesting
import BLEBlueZ
import BLEESPHome
import BLEFakeBlueZ
import BLEProxy
import BLESimulation
import BLETestSupport
import BLETesting
import BlueZTestSupport
import Loop
import Testing

/// A central whose radios are an adapter of bluetoothd and proxies, on one thread.
@Suite(.startsProcesses, .hangLimit)
struct MixedRadiosTests {
    private static let level = Characteristic<[UInt8]>(BluetoothUUID(0x2A19))

    /// The contract as far as proxies support it: a link may be made over either. Only an adapter measures the strength
    /// of its links.
    @Test(
        arguments: ProxyContractTests.supported.filter(Set(BackendContract.selected).contains).filter {
            $0 != .signalStrengthOfALinkIsMeasuredOrRefused
        }, Mixture.allCases)
    func contract(_ item: BackendContract, mixture: Mixture) async throws {
        let peer = try await MixedPeer(mixture)
        try await item.check(peer)
        await peer.end()
    }

    @Test(arguments: [true, false])
    func `a link moves to the adapter when the connection to its proxy is cut, and back when the adapter goes`(
        _ isProxyFirst: Bool
    ) async throws {
        let world = try await BlueZWorld(minorVersion: 82)
        let proxy = try await SwitchedProxy(world.radio, "attic")
        let battery = await world.radio.add(.battery())
        await battery.setStrength(-80, adapter: "hci0")
        await battery.setStrength(-50, adapter: proxy.adapter)
        let adapter = Radio.bluez(
            adapter: "hci0", address: world.address, channelSockets: world.daemon.channelSockets)
        let central = try await Central(
            radios: isProxyFirst ? [proxy.radio, adapter] : [adapter, proxy.radio], configuration: .quiet())
        let found = try await central.first(matching: .id(battery.id), timeout: HangLimit.step).peripheral
        let scan = Task { for try await _ in central.discoveries() {} }
        await until { await found.radioPaths.filter { $0.age != nil }.count == 2 }
        let values = Task {
            var all: [UInt8] = []
            for try await value in try await found.notifications(Self.level) {
                all += value
                if all.last == 9 { break }
            }
            return all
        }
        try await found.setConnectionPolicy(.maintained(backoff: Backoff(every: .milliseconds(10))))
        let notified = { await battery.subscriberCount(of: BluetoothUUID(0x2A19)) == 1 }
        await until(notified)
        #expect(await found.radio == "attic")
        await proxy.cut()
        await until { await found.radio == "hci0" }
        await until(notified)
        #expect(await central.adapterState == .poweredOn)
        #expect(await central.radios.first { $0.name == "attic" }?.state == .resetting)
        await battery.notify([5], from: BluetoothUUID(0x2A19))
        await proxy.mend()
        // It hears nothing of the battery before the link ends.
        await until { await central.radios.first { $0.name == "attic" }?.isScanning == true }
        #expect(await found.radio == "hci0")
        await world.daemon.adapter("hci0")?.setPresent(false)
        await until { await found.radio == "attic" }
        await until(notified)
        await battery.notify([9], from: BluetoothUUID(0x2A19))
        let all = try await values.value
        #expect(all.contains(5))
        #expect(all.last == 9)
        scan.cancel()
        await central.shutDown()
        await until { await !battery.isConnected }
        await proxy.end()
    }

    @Test func `a link over a radio that describes the services differently tells no change`() async throws {
        let world = try await BlueZWorld(minorVersion: 82)
        let proxy = try await SwitchedProxy(world.radio, "attic")
        // A proxy does not tell which services a service includes.
        let strap = await world.radio.add(
            PeripheralDefinition(
                advertisement: Advertisement(localName: "Strap", rssi: -50),
                services: [
                    .battery(level: 90),
                    ServiceDefinition(
                        BluetoothUUID(0xFF00), includes: [BluetoothUUID(0x180F)],
                        characteristics: [CharacteristicDefinition(BluetoothUUID(0xFF01), .read)]),
                ]))
        let adapter = Radio.bluez(
            adapter: "hci0", address: world.address, channelSockets: world.daemon.channelSockets)
        let central = try await Central(radios: [proxy.radio, adapter], configuration: .quiet())
        let found = try await central.first(matching: .id(strap.id), timeout: HangLimit.step).peripheral
        let scan = Task { for try await _ in central.discoveries() {} }
        await until { await found.radioPaths.filter { $0.age != nil }.count == 2 }
        var events = await found.connectionEvents().makeAsyncIterator()
        var databases: [GATTDatabase] = []
        var told = 0
        for radio in ["attic", "hci0", "attic", "hci0"] {
            try await found.setRadios([radio])
            try await found.connect()
            #expect(await found.radio == radio)
            databases.append(try await found.services())
            try await found.disconnect()
            loop: while let event = try await events.next() {
                switch event {
                case .servicesChanged: told += 1
                case .disconnected: break loop
                default: continue
                }
            }
        }
        #expect(databases[0] != databases[1])
        #expect(databases[0] == databases[2] && databases[1] == databases[3])
        #expect(told == 0)
        scan.cancel()
        await central.shutDown()
        await proxy.end()
    }

    @Test func `a hub offers several radios as one proxy, and a link moves behind it`() async throws {
        let radio = SimulatedRadio()
        await radio.addAdapter("hci1")
        let battery = await radio.add(.battery())
        let inner = try await Central(
            radios: [.simulated(radio, adapter: "hci0"), .simulated(radio, adapter: "hci1")], configuration: .quiet())
        let hub = ProxyServer(inner, .init(name: "hub", address: "AA:BB:CC:DD:EE:FF", key: nil))
        let client = try await Central(
            radios: [
                .esphome(name: "hub", key: nil) { (_) throws(LoopError) in
                    let (here, there) = try StreamSocket.pair()
                    await hub.accept(there)
                    return here
                }
            ], configuration: .quiet())
        let found = try await client.first(matching: .id(battery.id), timeout: HangLimit.step).peripheral
        try await found.connect()
        #expect(try await found.read(Self.level) == [90])
        let former = try #require(await inner.peripheral(battery.id).radio)
        await radio.setPresent(false, adapter: former)
        await until { await found.connectionState == .disconnected }
        try await found.connect()
        #expect(try await found.read(Self.level) == [90])
        let later = await inner.peripheral(battery.id).radio
        #expect(later != nil && later != former)
        await client.shutDown()
        await hub.close()
        await inner.shutDown()
    }

    @Test func `three proxies are one central, and each is told by its name`() async throws {
        let radio = SimulatedRadio()
        var proxies: [SwitchedProxy] = []
        for name in ["attic", "cellar", "garage"] { proxies.append(try await SwitchedProxy(radio, name)) }
        let battery = await radio.add(.battery())
        let central = try await Central(radios: proxies.map(\.radio), configuration: .quiet())
        let scan = Task { for try await _ in central.discoveries() {} }
        let found = central.peripheral(battery.id)
        await until { await found.radioPaths.filter { $0.age != nil }.count == 3 }
        #expect(await central.radios.map(\.name) == ["attic", "cellar", "garage"])
        await until { await central.radios.allSatisfy { $0.freeSlots != nil } }
        let free = await central.radios.compactMap(\.freeSlots)
        try #require(free.count == 3)
        try await found.setRadios(["cellar"])
        try await found.connect()
        #expect(await found.radio == "cellar")
        await until { await central.radios.map(\.freeSlots) == [free[0], free[1] - 1, free[2]] }
        try await found.disconnect()
        await until { await central.radios.map(\.freeSlots) == free }
        scan.cancel()
        await central.shutDown()
        for proxy in proxies { await proxy.end() }
    }
}

/// Radios of different kinds.
enum Mixture: CaseIterable, Sendable {
    case adapterAndProxy, proxyAndAdapter, twoProxies
}

/// A proxy over an adapter of a simulated radio, whose connections can be cut.
private struct SwitchedProxy {
    let name: String
    /// The adapter of the simulated radio that the proxy has.
    var adapter: String { name }
    let key = EncryptionKey.random()
    let inner: Central
    private let server: SharedValue<ProxyServer?>

    /// Adds an adapter to the radio.
    init(_ radio: SimulatedRadio, _ name: String) async throws {
        self.name = name
        await radio.addAdapter(name)
        inner = try await Central(backend: .simulated(radio, adapter: name), configuration: .quiet())
        server = SharedValue(nil)
        await mend()
    }

    /// The proxy as a central's radio, over a pair of sockets.
    var radio: Radio {
        .esphome(name: name, key: key) { [server] (_) throws(LoopError) in
            guard let server = server.value else { throw .refused("nothing listens") }
            let (here, there) = try StreamSocket.pair()
            await server.accept(there)
            return here
        }
    }

    /// Ends the connections; no others can be made.
    func cut() async {
        let former = server.change { server in
            defer { server = nil }
            return server
        }
        await former?.close()
    }

    func mend() async {
        let new = ProxyServer(inner, .init(name: name, address: "AA:BB:CC:DD:EE:FF", key: key))
        server.change { $0 = new }
    }

    func end() async {
        await cut()
        await inner.shutDown()
    }
}

/// The contract's peripheral, which several radios hear.
private struct MixedPeer: SimulatedStrapPeer {
    let strap = SimulatedStrap()
    let peripheral: SimulatedPeripheral
    private let world: BlueZWorld?
    private let proxies: [SwitchedProxy]
    private let radios: [Radio]

    init(_ mixture: Mixture) async throws {
        let world = mixture == .twoProxies ? nil : try await BlueZWorld(minorVersion: 82)
        self.world = world
        let radio = world?.radio ?? SimulatedRadio()
        peripheral = await radio.add(strap.definition)
        var proxies = [try await SwitchedProxy(radio, "attic")]
        if world == nil { proxies.append(try await SwitchedProxy(radio, "cellar")) }
        self.proxies = proxies
        let adapters = world.map { world in
            [Radio.bluez(adapter: "hci0", address: world.address, channelSockets: world.daemon.channelSockets)]
        }
        switch mixture {
        case .adapterAndProxy, .twoProxies: radios = (adapters ?? []) + proxies.map(\.radio)
        case .proxyAndAdapter: radios = proxies.map(\.radio) + (adapters ?? [])
        }
    }

    func makeCentral(_ configuration: Central.Configuration) async throws -> Central {
        try await Central(radios: radios, configuration: configuration)
    }

    func end() async { for proxy in proxies { await proxy.end() } }

    // The contract of proxies needs none of these.
    func stopNotifications(_ service: UInt16, _ characteristic: UInt16) async {}
    func stopBluetooth() async {}
    func restartBluetooth() async {}
    func setPowered(_ isPowered: Bool) async {}
    func setBlocked(_ isBlocked: Bool) async {}
    func unplug() async {}
    func plug() async {}
}
