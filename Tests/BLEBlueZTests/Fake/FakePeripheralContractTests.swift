import BLE
import BLEBackendTesting
import BLEBlueZ
import BLEProfiles
import BLESimulation
import BLETestSupport
import DBus
import Testing

@testable import BLEFakeBlueZ
@testable import BlueZTestSupport

/// The contract of the peripheral role with a fake bluetoothd, whose radio has the centrals: one that does not tell
/// subscribers apart, and one that does.
@Suite(.startsProcesses, .hangLimit)
struct FakePeripheralContractTests {
    @Test(arguments: PeripheralContract.selected, [66, 80])
    func contract(_ item: PeripheralContract, minorVersion: Int) async throws {
        try await item.check(FakeServingPeer(world: try await BlueZWorld(minorVersion: minorVersion)))
    }

    @Test(arguments: PeripheralContract.selected, [TestCarrier.gdbus, .existing])
    func `contract over GDBus`(_ item: PeripheralContract, carrier: TestCarrier) async throws {
        try await item.check(FakeServingPeer(world: try await BlueZWorld(over: carrier, minorVersion: 80)))
    }

    @Test(arguments: HostRadioContract.selected, [66, 80])
    func radio(_ item: HostRadioContract, minorVersion: Int) async throws {
        try await item.check(
            FakeServingPeer(world: try await BlueZWorld(minorVersion: minorVersion, clock: ManualClock())))
    }
}

private struct FakeServingPeer: SimulatedHostPeer {
    let world: BlueZWorld
    var radio: SimulatedRadio { world.radio }
    var faultFacts: FaultFacts { .bluetoothd }

    /// Long enough that only a hang exceeds it, even on a busy machine.
    var timeout: Duration { .seconds(600) }
    var distinguishesSubscribers: Bool { world.daemon.minorVersion >= 80 }

    func makeHost(_ configuration: PeripheralHost.Configuration) async throws -> PeripheralHost {
        try await world.makeHost(configuration)
    }

    func makeCentral(_ configuration: Central.Configuration) async throws -> Central {
        try await Central(backend: .simulated(world.radio), configuration: configuration)
    }

    func restartStack() async throws {
        await world.daemon.kill()
        try await world.daemon.start()
    }

    func setPowered(_ isPowered: Bool) async { await world.daemon.setPowered(isPowered) }
    func setPresent(_ isPresent: Bool) async { await world.daemon.setPresent(isPresent) }
    func reset() async {}
}

/// Calls that bluetoothd refuses, and registrations that it ends.
@Suite(.startsProcesses, .hangLimit)
struct FakeServingTests {
    private let world: BlueZWorld
    private let host: PeripheralHost

    init() async throws {
        world = try await BlueZWorld()
        host = try await world.makeHost()
    }

    @Test func `an advertisement for which no set is free is refused, and the others stay`() async throws {
        let advertising = (0..<4).map { _ in
            Task { try await host.advertise(AdvertisingParameters(serviceUUIDs: [.battery])) }
        }
        await until { await world.daemon.servedCounts.advertisements == 4 }
        let error = await expectError(.busy) {
            try await host.advertise(AdvertisingParameters(serviceUUIDs: [.battery]))
        }
        #expect(error?.stackErrorName == "org.bluez.Error.NotPermitted")
        #expect(error?.remedy != nil)
        #expect(await world.daemon.servedCounts.advertisements == 4)
        await host.shutDown()
        for task in advertising { await expectError(.shutDown) { try await task.value } }
        #expect(await world.daemon.servedCounts.advertisements == 0)
    }

    @Test func `advertising that bluetoothd ends begins again`() async throws {
        var events = await host.events().makeAsyncIterator()
        let advertising = Task { try await host.advertise(AdvertisingParameters(serviceUUIDs: [.battery])) }
        guard case .advertisingStarted? = try await events.next() else { throw BLEError(.failed, "no start") }
        await world.daemon.releaseAdvertisements()
        guard case .advertisingEnded(let error?)? = try await events.next() else { throw BLEError(.failed, "no end") }
        #expect(error.isRetryable)
        guard case .advertisingStarted? = try await events.next() else { throw BLEError(.failed, "no second start") }
        advertising.cancel()
        await expectError(.cancelled) { try await advertising.value }
        await host.shutDown()
    }

    @Test func `a scan response is registered as what bluetoothd calls it`() async throws {
        let parameters = AdvertisingParameters(
            serviceUUIDs: [.battery],
            scanResponse: ScanResponse(
                serviceUUIDs: [.heartRate], serviceData: [.battery: [50]], manufacturerData: [0xFFFF: [1, 2]],
                structures: [AdvertisingStructure(type: 0x26, bytes: [9])]))
        let advertising = Task { try await host.advertise(parameters) }
        let central = try await Central(backend: .simulated(world.radio), configuration: .quiet())
        let found = try await central.first(matching: .service(.battery), timeout: HangLimit.step).advertisement
        #expect(found.serviceUUIDs == [.battery, .heartRate])
        #expect(found.serviceData == [.battery: [50]])
        #expect(found.manufacturerData == [0xFFFF: [1, 2]])
        #expect(found.structures == [AdvertisingStructure(type: 0x26, bytes: [9])])
        advertising.cancel()
        _ = await advertising.result
        await central.shutDown()
        await host.shutDown()
    }

    @Test func `a host's agent answers the pairings of centrals, as the default agent, also after a restart`()
        async throws
    {
        let shown = SharedValue<[Passkey]>([])
        let pairing = PairingAgent(capability: { .displayOnly }) { _, prompt in
            guard case .show(let passkey, _) = prompt else { return .refuse }
            shown.change { $0.append(passkey) }
            return .accept
        }
        let other = try await world.makeHost(.quiet(pairing: pairing))
        #expect(await world.daemon.agentCapabilities == [.displayOnly])
        try await other.withServed(.battery()) { _ in
            let central = try await Central(backend: .simulated(world.radio), configuration: .quiet())
            try await central.first(matching: .service(.battery), timeout: HangLimit.step).peripheral.connect()
            await until { await other.connectedCentrals.count == 1 }
            let id = try #require(await other.connectedCentrals.first)
            _ = await world.daemon.ask(id, .show(Passkey(123456)!, entered: 0))
            #expect(shown.value == [Passkey(123456)!])
            #expect(await world.daemon.ask(id, .enterPasskey) == .refuse)
            await central.shutDown()
        }
        await world.daemon.kill()
        try await world.daemon.start()
        await until { await world.daemon.agentCapabilities == [.displayOnly] }
        await other.shutDown()
        await host.shutDown()
    }

    @Test func `each part of a long read is authorized`() async throws {
        let asked = SharedValue<[Int]>([])
        let long = Characteristic<[UInt8]>(BluetoothUUID(0xFFE1))
        let definition = PeripheralDefinition(
            advertisement: Advertisement(serviceUUIDs: [.battery]),
            services: [
                ServiceDefinition(
                    .battery,
                    characteristics: [
                        CharacteristicDefinition(
                            long.key.characteristic, .read, value: [UInt8](repeating: 7, count: 500),
                            authorize: { (_, request) throws(ATTError) in
                                // The daemon reads one packet after the other.
                                if asked.change({
                                    $0.append(request.offset); return $0.count
                                }) == 2 {
                                    throw .insufficientAuthorization
                                }
                            })
                    ])
            ])
        try await host.withServed(definition) { _ in
            let central = try await Central(backend: .simulated(world.radio), configuration: .quiet())
            let remote = try await central.first(matching: .service(.battery), timeout: HangLimit.step).peripheral
            let refused = await expectError(.notPermitted) { try await remote.read(long) }
            #expect(refused?.attError == .insufficientAuthorization)
            #expect(asked.value == [0, 246])
            await central.shutDown()
        }
        await host.shutDown()
    }

    @Test func `devices that have a link already are reported`() async throws {
        let central = try await world.makeCentral(.quiet())
        let battery = await world.radio.add(.battery())
        try await central.find(battery.id).connect()
        let late = try await world.makeHost()
        #expect(await late.connectedCentrals == [battery.id])
        try await central.find(battery.id).disconnect()
        await until { await late.connectedCentrals.isEmpty }
        await late.shutDown()
        await central.shutDown()
        await host.shutDown()
    }

    @Test func `a refused registration is reported, and leaves nothing behind`() async throws {
        await world.daemon.fail("RegisterApplication", .bluez("Failed", "No object received"))
        let definition = PeripheralDefinition.battery()
        await expectError(.failed) { try await host.serve(definition) }
        #expect(await world.daemon.servedCounts.applications == 0)
        // The failure does not block later attempts.
        await world.daemon.fail("RegisterAdvertisement", .bluez("Failed", "Failed to parse advertisement."))
        await expectError(.invalidArgument) { try await host.serve(definition) }
        #expect(await world.daemon.servedCounts.applications == 0)
        try await host.withServed(definition) { _ in
            #expect(await world.daemon.servedCounts.applications == 1)
        }
        #expect(await world.daemon.servedCounts.applications == 0)
        await host.shutDown()
    }

    @Test func `the match rule of an application ends with it`() async throws {
        let program = try await world.makeSession()
        func rules() async throws -> Int? {
            let owner = try await program.call(.bus("GetNameOwner", [.string("org.bluez")]), timeout: HangLimit.step)
            let name = try owner.value().string ?? ""
            let facts = try await program.call(
                MethodCall(
                    "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus.Debug.Stats",
                    "GetConnectionStats", [.string(name)]), timeout: HangLimit.step)
            return facts.values.first?[key: "MatchRules"]?.integer
        }
        let before = try #require(try await rules())
        try await host.withServed(.battery()) { _ in
            let during = try await rules()
            #expect(during == before + 1)
        }
        await until { (try? await rules()) == before }
        await world.radio.fail(.register, .next(1))
        await expectError(.failed) { try await host.serve(.battery()) }
        await until { (try? await rules()) == before }
        let other = try await world.makeHost()
        try await other.withServed(.battery()) { _ in
            // The daemon's adapter is gone, and with it what it serves.
            await world.daemon.setPresent(false)
            await until { (try? await rules()) == before }
            await world.daemon.setPresent(true)
        }
        await other.shutDown()
        await until { (try? await rules()) == before }
        await program.close()
        await host.shutDown()
    }

    @Test func `a write to what accepts commands is acknowledged at once`() async throws {
        let command = Characteristic<[UInt8]>(BluetoothUUID(0xFFE1))
        let (isFree, received) = (SharedValue(false), SharedValue<[[UInt8]]>([]))
        let definition = PeripheralDefinition(
            advertisement: Advertisement(serviceUUIDs: [.battery]),
            services: [
                ServiceDefinition(
                    .battery,
                    characteristics: [
                        CharacteristicDefinition(
                            command.key.characteristic, [.read, .write, .writeWithoutResponse],
                            onRead: { _ in [7] },
                            onWrite: { value, _ in
                                try? await isFree.until { $0 }
                                received.change { $0.append(value) }
                            })
                    ])
            ])
        try await host.withServed(definition) { _ in
            let central = try await Central(backend: .simulated(world.radio), configuration: .quiet())
            let remote = try await central.first(matching: .service(.battery), timeout: HangLimit.step).peripheral
            let values = (0..<8).map { [UInt8($0)] }
            for value in values.dropLast() { try await remote.write(value, to: command, type: .withoutResponse) }
            try await remote.write(values.last!, to: command)
            #expect(received.value.isEmpty)
            isFree.change { $0 = true }
            try await received.until { $0.count == 8 }
            #expect(received.value == values)
            await central.shutDown()
        }
        await host.shutDown()
    }

    @Test func `a cancelled registration leaves nothing behind`() async throws {
        await world.daemon.hang("after RegisterApplication")
        let serving = Task { try await host.serve(.battery()) }
        await world.daemon.untilHung()
        serving.cancel()
        await until { await world.daemon.calls["UnregisterApplication"] == 1 }
        await world.daemon.release()
        await expectError(.cancelled) { try await serving.value }
        await until { await world.daemon.servedCounts.applications == 0 }
        await host.shutDown()
    }
}
