import BLE
import BLESimulation
import BLETestSupport
import Logging
import Testing

@Suite(.hangLimit) struct SimulatedTraceTests {
    private let clock = ManualClock()
    private let log = LogRecords()
    private static let value = Characteristic<[UInt8]>(BluetoothUUID(0xFFE1))
    private static let command = Characteristic<[UInt8]>(BluetoothUUID(0xFFE2))

    private static let definition = PeripheralDefinition(
        advertisement: Advertisement(localName: "Gauge", rssi: -40),
        services: [
            ServiceDefinition(
                BluetoothUUID(0xFFE0),
                characteristics: [
                    CharacteristicDefinition(
                        value.key.characteristic, [.read, .write, .notify], value: [1, 2],
                        onWrite: { (value, _) throws(ATTError) in
                            if value == [0] { throw .valueNotAllowed }
                        }),
                    CharacteristicDefinition(
                        command.key.characteristic, .writeWithoutResponse,
                        onWrite: { (_, _) throws(ATTError) in throw .valueNotAllowed }),
                ])
        ])

    private func withRadio(
        isTraced: Bool = true, _ check: (Central, SimulatedPeripheral) async throws -> Void
    ) async throws {
        let radio = SimulatedRadio(clock: clock, logger: log.logger(isTraced ? .trace : .debug))
        let central = try await Central(backend: .simulated(radio), configuration: .quiet(clock: clock))
        try await check(central, await radio.add(Self.definition))
        await central.shutDown()
    }

    @Test func `advertisements, requests and their answers are logged with central and peripheral`() async throws {
        try await withRadio { central, gauge in
            let peripheral = try await central.find(gauge.id)
            #expect(try await peripheral.read(Self.value) == [1, 2])
            try await peripheral.write([0xAB], to: Self.value)
            await #expect(throws: BLEError.self) { try await peripheral.write([0], to: Self.value) }
            try await peripheral.write([3], to: Self.command, type: .withoutResponse)
            try await log.until("simulated write without response: failed")
            let ids = try #require(log.metadata(of: "simulated connect: done").first)
            #expect(ids["peripheral"] == gauge.id.rawValue)
            let heard = try #require(log.metadata(of: "simulated advertisement").first)
            #expect(
                heard == [
                    "central": ids["central"], "peripheral": gauge.id.rawValue, "rssi": "-40", "time": "0.0 seconds",
                ])
            let read = try #require(log.metadata(of: "simulated read: done").first)
            #expect(read["value"] == "0102")
            #expect(read["central"] == ids["central"])
            #expect(log.metadata(of: "simulated write: done").map { $0["written"] } == ["ab", "03"])
            let rejected = try #require(log.metadata(of: "simulated write: failed").first)
            #expect(rejected["written"] == "00")
            #expect(rejected["error"] != nil)
            // No central receives this answer.
            let command = try #require(log.metadata(of: "simulated write without response: failed").first)
            #expect(command["written"] == "03")
            #expect(command["error"] == "\(ATTError.valueNotAllowed)")
        }
    }

    @Test func `what a central asks beside values is logged, too`() async throws {
        try await withRadio { central, gauge in
            let peripheral = try await central.find(gauge.id)
            _ = try await peripheral.services()
            #expect(log.metadata(of: "simulated discover services: done").first?["peripheral"] == gauge.id.rawValue)
            let writer = try await peripheral.packetWriter(to: Self.command)
            #expect(log.metadata(of: "simulated acquire writing: done").first?["handle"] != nil)
            writer.close()
            try await peripheral.pair()
            try await peripheral.disconnect()
            #expect(log.metadata(of: "simulated disconnect: done").count == 1)
            try await peripheral.unpair()
            #expect(log.metadata(of: "simulated unpair: done").count == 1)
        }
    }

    @Test func `scans, ends of subscriptions, and what faults do are logged`() async throws {
        try await withRadio { central, gauge in
            let peripheral = try await central.find(gauge.id)
            await until { log.metadata(of: "simulated scan ended").count == 1 }
            let ids = try #require(log.metadata(of: "simulated scan").first)
            #expect(ids["transport"] == "le")
            #expect(log.metadata(of: "simulated scan ended").first?["central"] == ids["central"])
            var values = try await peripheral.notifications(Self.value).makeAsyncIterator()
            await gauge.ignore(.notify, .nth(1))
            await gauge.fail(.notify, .nth(2))
            for value in [UInt8(1), 2, 3] { try await gauge.notify([value], from: Self.value) }
            #expect(try await values.next() == [3])
            #expect(log.metadata(of: "simulated value lost").map { $0["value"] } == ["01", "02"])
            let disturbances = log.metadata(of: "simulated disturbance")
            #expect(disturbances.map { $0["effect"] } == ["ignore", "fail(attributeError)"])
            #expect(disturbances.allSatisfy { $0["event"] == "notify" && $0["peripheral"] == gauge.id.rawValue })
            #expect(disturbances.first?["handle"] == log.metadata(of: "simulated value lost").first?["handle"])
            await gauge.dropLink()
            #expect(log.metadata(of: "simulated subscription ended").map { $0["central"] } == [ids["central"]])
            await gauge.rotateAddress()
            let rotation = "rotateAddress to \(await gauge.address)"
            #expect(log.metadata(of: "simulated fault").contains { $0["fault"] == rotation })
        }
    }

    @Test func `values for which a channel has no room are logged`() async throws {
        try await withRadio { _, gauge in
            let backend = SimulatedBackend.simulated(gauge.disturbed.radio)
            try await backend.start(
                CentralContext(handleEvent: { _ in }, logger: Logger(label: "test"), clock: clock))
            try await backend.startDiscovery(DiscoveryFilter())
            await clock.run(for: .seconds(1))
            try await backend.connect(gauge.id)
            let found = try await backend.discoverServices(gauge.id).services.flatMap(\.characteristics)
            let place = AttributeID(peripheral: gauge.id, handle: try #require(found.first?.handle))
            // The first value is taken, and no further one.
            try await backend.acquireNotifications(of: place) { _ in false }
            for _ in 0..<250 { try await gauge.notify([1], from: Self.value) }
            #expect(log.metadata(of: "simulated value dropped").count == 49)
            await backend.shutDown()
        }
    }

    @Test func `what a host begins and ends, and confirmations, are logged`() async throws {
        let radio = SimulatedRadio(clock: clock, logger: log.logger())
        let host = try await PeripheralHost(backend: .simulated(radio), configuration: .quiet())
        let central = try await Central(backend: .simulated(radio), configuration: .quiet(clock: clock))
        let definition = PeripheralDefinition(
            advertisement: Advertisement(localName: "Gauge"),
            services: [
                ServiceDefinition(
                    BluetoothUUID(0xFFE0),
                    characteristics: [CharacteristicDefinition(Self.value.key.characteristic, .indicate)])
            ])
        try await host.withServed(definition) { served in
            let values = try await central.find().notifications(Self.value)
            try await served.indicate([1], from: Self.value)
            let confirmation = try #require(log.metadata(of: "simulated confirmation").first)
            #expect(confirmation["handle"] == log.metadata(of: "simulated notification").first?["handle"])
            _ = values
        }
        let registered = log.metadata(of: "simulated register").map { $0["services"] }
        #expect(registered.count == 1)
        #expect(log.metadata(of: "simulated unregister").map { $0["services"] } == registered)
        #expect(log.metadata(of: "simulated stop advertising").count == 1)
        await host.shutDown()
        await central.shutDown()
    }

    @Test func `notified values are logged for subscribers only`() async throws {
        try await withRadio { central, gauge in
            await gauge.notify([7], from: Self.value.key.characteristic)
            #expect(log.metadata(of: "simulated notification") == [])
            var values = try await central.find(gauge.id).notifications(Self.value).makeAsyncIterator()
            try await gauge.notify([8], from: Self.value)
            #expect(try await values.next() == [8])
            #expect(log.metadata(of: "simulated notification").map { $0["value"] } == ["08"])
        }
    }

    @Test func `links and injected faults are logged at debug level, without values`() async throws {
        try await withRadio(isTraced: false) { central, gauge in
            let peripheral = try await central.find(gauge.id)
            _ = try await peripheral.read(Self.value)
            await gauge.setAdvertising(false)
            await gauge.dropLink()
        }
        #expect(log.metadata(of: "simulated link made").count == 1)
        #expect(log.metadata(of: "simulated fault").map { $0["fault"] } == ["setAdvertising(false)", "dropLink"])
        #expect(log.metadata(of: "simulated link ended").first?["error"]?.contains("link was lost") == true)
        #expect(log.all.allSatisfy { $0.level == .debug })
    }

    @Test func `changes of the adapter are logged`() async throws {
        let radio = SimulatedRadio(clock: clock, logger: log.logger(.debug))
        await radio.setPowered(false)
        await radio.stop()
        await radio.restart()
        await radio.setPowered(true)
        await radio.addAdapter("hci1")
        #expect(
            log.metadata(of: "simulated adapter").map { $0["state"] } == [
                "poweredOff", "resetting", "poweredOff", "poweredOn", "poweredOn",
            ])
        #expect(log.metadata(of: "simulated adapter").last?["adapter"] == "hci1")
    }
}
