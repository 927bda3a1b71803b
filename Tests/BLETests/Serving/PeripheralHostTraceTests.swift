import BLE
import BLESimulation
import BLETestSupport
import Logging
import Testing

@Suite(.hangLimit) struct PeripheralHostTraceTests {
    private let clock = ManualClock()
    private let backend = ServingBackend(distinguishesSubscribers: true)
    private let log = LogRecords()

    private static let value = Characteristic<[UInt8]>(BluetoothUUID(0xFFE1))
    private static let central = Peripheral.ID(rawValue: "C0:00:00:00:00:01")
    private static let characteristic = CharacteristicDefinition(
        value.key.characteristic, [.read, .write, .notify, .indicate], value: [1, 2],
        descriptors: [DescriptorDefinition(BluetoothUUID(0x2901), value: [0x41])],
        onWrite: { (value, _) throws(ATTError) in
            if value == [0] { throw .valueNotAllowed }
        })

    private func withServed(
        _ log: LogRecords, isTraced: Bool = true, _ check: (PeripheralHost, ServedPeripheral) async throws -> Void
    ) async throws {
        let host = try await PeripheralHost(
            backend: backend,
            configuration: PeripheralHost.Configuration(clock: clock, logger: log.logger(isTraced ? .trace : .debug)))
        let definition = PeripheralDefinition(
            advertisement: Advertisement(
                localName: "Gauge", serviceUUIDs: [BluetoothUUID(0xFFE0)], manufacturerData: [0x0A0B: [0xCC]]),
            services: [ServiceDefinition(BluetoothUUID(0xFFE0), characteristics: [Self.characteristic])])
        try await host.withServed(definition) { try await check(host, $0) }
        await host.shutDown()
    }

    @Test func `requests are logged with central, characteristic, offset and value, and with the answer`() async throws
    {
        try await withServed(log) { _, _ in
            _ = try await backend.read(AttributeRequest(central: Self.central))
            _ = try await backend.read(AttributeRequest(central: Self.central, offset: 1))
            _ = try await backend.read(AttributeRequest(central: Self.central), descriptor: 0)
            try await backend.write([0xAB], AttributeRequest(central: Self.central))
            try await backend.write([], AttributeRequest(central: Self.central, isPrepared: true))
            await #expect(throws: ATTError.valueNotAllowed) {
                try await backend.write([0], AttributeRequest(central: Self.central))
            }
        }
        let place = ["central": Self.central.rawValue, "characteristic": "ffe1"]
        let time = ["took": "0.0 seconds"]
        #expect(log.metadata(of: "answering a read").first == place)
        #expect(
            log.metadata(of: "answering a read: done") == [
                place.merging(time) { $1 }.merging(["value": "0102"]) { $1 },
                place.merging(time) { $1 }.merging(["value": "02", "offset": "1"]) { $1 },
                place.merging(time) { $1 }.merging(["value": "41", "descriptor": "2901"]) { $1 },
            ])
        #expect(
            log.metadata(of: "answering a write: done") == [
                place.merging(time) { $1 }.merging(["written": "ab"]) { $1 }
            ])
        #expect(log.metadata(of: "answering a prepared write: done").count == 1)
        let rejected = try #require(log.metadata(of: "answering a write: failed").first)
        #expect(rejected["written"] == "00")
        #expect(rejected["error"] == "\(ATTError.valueNotAllowed)")
        #expect(log.all.filter { $0.message.hasPrefix("answering") }.allSatisfy { $0.level == .trace })
    }

    @Test func `sent values and their confirmations are logged`() async throws {
        try await withServed(log) { _, served in
            await backend.report(.subscribed(backend.attribute, central: Self.central, attMTU: 100))
            try await served.notify([5], from: Self.value)
            let indication = Task { try await served.indicate([6], from: Self.value, to: Self.central) }
            await until { await backend.indicating == 1 }
            #expect(log.metadata(of: "indicating").map { $0["value"] } == ["06"])
            #expect(log.metadata(of: "indicating: done") == [])
            await backend.confirm(.success(()), by: Self.central)
            try await indication.value
        }
        #expect(log.metadata(of: "notifying: done").map { $0["value"] } == ["05"])
        #expect(log.metadata(of: "notifying: done").map { $0["central"] } == ["all"])
        #expect(log.metadata(of: "indicating: done").map { $0["central"] } == [Self.central.rawValue])
    }

    @Test func `links, subscriptions, advertisements and losses are logged at debug level, without values`()
        async throws
    {
        try await withServed(log, isTraced: false) { host, _ in
            await backend.report(.centralConnected(Self.central))
            await backend.report(.subscribed(backend.attribute, central: Self.central, attMTU: 100))
            _ = try await backend.read(AttributeRequest(central: Self.central))
            await backend.report(.centralDisconnected(Self.central))
            await backend.lose()
        }
        let subscriber = ["central": Self.central.rawValue, "characteristic": "ffe1", "attMTU": "100"]
        #expect(log.metadata(of: "central connected") == [["central": Self.central.rawValue]])
        #expect(log.metadata(of: "subscribed") == [subscriber])
        #expect(log.metadata(of: "unsubscribed") == [subscriber])
        #expect(log.metadata(of: "central disconnected").count == 1)
        #expect(log.metadata(of: "advertising started").count == 1)
        #expect(log.metadata(of: "advertising ended").first?["error"]?.contains("gone") == true)
        #expect(log.metadata(of: "services lost").count == 1)
        #expect(log.all.filter { $0.message == "bluetooth lost" }.map(\.level) == [.info])
        #expect(log.all.allSatisfy { $0.level > .trace })
    }

    @Test func `what is advertised is logged`() async throws {
        try await withServed(log) { _, _ in }
        #expect(
            log.metadata(of: "advertising") == [["name": "Gauge", "services": "[ffe0]", "company 0a0b": "cc"]])
    }

    @Test(arguments: [true, false])
    func `each value of a notifier is logged once, whichever way it takes`(_ sendsDirectly: Bool) async throws {
        let backend = ServingBackend(distinguishesSubscribers: true, sendsDirectly: sendsDirectly)
        let configuration = PeripheralHost.Configuration(clock: clock, logger: log.logger())
        let host = try await PeripheralHost(backend: backend, configuration: configuration)
        let definition = PeripheralDefinition(
            advertisement: Advertisement(localName: "Gauge"),
            services: [
                ServiceDefinition(
                    BluetoothUUID(0xFFE0),
                    characteristics: [
                        CharacteristicDefinition(
                            Self.value.key.characteristic, .notify,
                            onSubscribe: { notifier in
                                for value: UInt8 in 7...9 { await notifier.notify([value]) }
                            })
                    ])
            ])
        try await host.withServed(definition) { _ in
            await backend.report(.subscribed(backend.attribute, central: Self.central, attMTU: 100))
            await until { log.metadata(of: "notifying: done").count == 3 }
        }
        let sent = log.metadata(of: "notifying: done")
        #expect(sent.map { $0["value"] } == ["07", "08", "09"])
        #expect(sent.allSatisfy { $0["central"] == Self.central.rawValue && $0["characteristic"] == "ffe1" })
        // The first goes through the host, which may have to leave the handler's thread for it.
        #expect(backend.sentDirectly?.value ?? [] == (sendsDirectly ? [[8], [9]] : []))
        await host.shutDown()
    }
}
