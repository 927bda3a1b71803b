import BLE
import BLEAssignedNumbers
import BLEBTHome
import BLEBeacons
import BLEProfiles
import BLESimulation
import BLETestSupport
import Foundation
import Testing

/// The JSON form that Docs/Values.md describes and Docs/Values.schema.json defines.
@Suite(.hangLimit) struct JSONFormTests {
    private static func schema() throws -> JSONSchema {
        try JSONSchema(Data(contentsOf: Checkout.url("Docs/Values.schema.json")))
    }

    /// Values of a type, with the name of its definition.
    struct Example: Sendable, CustomStringConvertible {
        let definition: String
        let check: @Sendable (JSONSchema, Central) throws -> Void

        var description: String { definition }

        init<Value: Codable & Equatable & Sendable>(_ definition: String, _ values: Value...) {
            self.definition = definition
            check = { schema, central in
                for value in values {
                    let data = try JSONEncoder().encode(value)
                    let problems = try schema.problems(
                        of: JSONDecoder().decode(JSONSchema.Value.self, from: data), as: definition)
                    #expect(problems == [], "\(String(decoding: data, as: UTF8.self))")
                    let decoder = JSONDecoder()
                    decoder.userInfo[.central] = central
                    #expect(try decoder.decode(Value.self, from: data) == value)
                }
            }
        }
    }

    private static let uuid = BluetoothUUID("6e400001-b5a3-f393-e0a9-e50e24dcca9e")!
    private static let advertisement = Advertisement(
        localName: "Strap", rssi: -60, txPower: 4, serviceUUIDs: [BluetoothUUID(0x180F), uuid],
        manufacturerData: [0x004C: [2, 0x15]], serviceData: [BluetoothUUID(0xFEAA): [0x20]], appearance: 833,
        deviceClass: 0x240404, addressType: .random, isConnectable: true, flags: [.generalDiscoverable],
        solicitedServiceUUIDs: [BluetoothUUID(0x1805)], advertisingInterval: .microseconds(20_625),
        structures: [AdvertisingStructure(type: 0xFF, bytes: [0x4C, 0, 2])])
    private static let characteristic = GATTCharacteristic(
        uuid: uuid, handle: 3, properties: [.read, .notify],
        descriptors: [GATTDescriptor(uuid: BluetoothUUID(0x2902), handle: 5)])
    private static let database = GATTDatabase(services: [
        GATTService(uuid: uuid, handle: 1, characteristics: [characteristic], includedHandles: [9])
    ])

    private static let core: [Example] = [
        Example("uuid", uuid, BluetoothUUID(0x180F), BluetoothUUID(0x1234_5678)),
        Example("peripheral", "F0:F1:F2:F3:F4:F5" as Peripheral.ID, "strap"),
        Example("advertisement", advertisement, Advertisement()),
        Example("advertisingStructure", AdvertisingStructure(type: 1, bytes: [])),
        Example("knownPeripheral", KnownPeripheral(id: "strap", advertisement: advertisement, isConnected: true)),
        Example("attributeID", AttributeID(peripheral: "strap", handle: 3)),
        Example("characteristicKey", characteristic.key, CharacteristicKey(service: uuid, characteristic: uuid)),
        Example("database", database), Example("service", database.services[0]),
        Example("characteristic", characteristic), Example("descriptor", characteristic.descriptors[0]),
        Example(
            "adapter",
            Adapter(id: "hci0", address: "C0:FF:EE:00:00:01", name: "x", isPowered: true, isDiscovering: false)),
        Example("adapterState", AdapterState.poweredOn, .poweredOff, .unavailable, .resetting),
        Example("connectionState", ConnectionState.disconnected, .connecting, .connected, .disconnecting),
        Example("pairingState", PairingState(isPaired: true, isTrusted: false, isBlocked: false, identity: "strap")),
        Example("backoff", Backoff.standard, Backoff(initial: .microseconds(1), factor: 1, maximum: .seconds(1))),
        Example("presentationFormat", PresentationFormat(format: .sint16, exponent: -2, unit: BluetoothUUID(0x272F))),
        Example("medFloat", MedFloat16(36.6), .nan, .infinity),
        Example("medFloat", MedFloat32(-36.6), .notAtThisResolution),
        Example("integerFormat", IntegerFormat.uint8, .uint16, .uint24, .uint32, .uint40, .uint48, .int8, .int64),
    ]

    private static let formats: [Example] = [
        Example("iBeacon", IBeacon(uuid: uuid, major: 1, minor: 2, measuredPower: -59)),
        Example(
            "ruuviTag", RuuviTag(),
            RuuviTag(
                temperatureCelsius: 24.3, humidityPercent: 53.49, pressurePascals: 100_044,
                accelerationMilligravities: .init(x: 4, y: -4, z: 1036), batteryMillivolts: 2977, txPower: 4,
                movementCount: 66, sequenceNumber: 205, address: [0xF0, 1, 2, 3, 4, 5])),
        Example(
            "eddystone", Eddystone.uid(namespace: [1, 2], instance: [3], txPower: -20),
            .url("https://a.b", txPower: -20),
            .telemetry(EddystoneTelemetry(advertisementCount: 1, uptimeDeciseconds: 2)),
            .encryptedTelemetry(ciphertext: [1], salt: 2, integrityCheck: 3), .ephemeralID([1, 2], txPower: 0)),
        Example(
            "eddystoneTelemetry",
            EddystoneTelemetry(
                batteryMillivolts: 3000, temperatureCelsius: -1.5, advertisementCount: 1, uptimeDeciseconds: 2)),
        Example(
            "findHubBeacon", FindHubBeacon(ephemeralID: [1, 2], protectsFromTracking: false),
            FindHubBeacon(ephemeralID: [], protectsFromTracking: true, hashedFlags: 255)),
        Example(
            "locationTracker", LocationTracker(networkID: 1, isNearOwner: false),
            LocationTracker(networkID: 255, isNearOwner: true, payload: [1, 2])),
        Example("robotStatus", RobotStatus(batteryPercent: 80, isCharging: true, version: "1.2", isInDeepSleep: false)),
        Example("guess", ValueGuess([]), ValueGuess([0x31]), ValueGuess([0x31, 0x2E, 0x35]), .string("a"), .raw([0])),
    ]

    @Test(arguments: core + formats)
    func `a value has the form of the schema, and is read as it was written`(_ example: Example) async throws {
        let world = try await SimulatedWorld()
        try example.check(Self.schema(), world.central)
    }

    @Test func `a discovery, a peripheral and errors have the form of the schema`() async throws {
        let world = try await SimulatedWorld()
        let peripheral = world.central.peripheral("strap")
        try Example("peripheral", peripheral).check(Self.schema(), world.central)
        try Example(
            "discovery", Discovery(peripheral: peripheral, advertisement: Self.advertisement),
            Discovery(peripheral: peripheral, advertisement: Advertisement(), identity: "watch")
        ).check(Self.schema(), world.central)
        let error = BLEError(
            .attributeError, "no", attError: .unlikelyError, stackErrorName: "org.bluez.Error.Failed",
            peripheral: "strap", service: Self.uuid, characteristic: Self.uuid, missingUUIDs: [Self.uuid],
            disconnectReason: .remote, isRetryable: true, remedy: "Try.", cause: BLEError(.timedOut, "late"))
        for error in [error, BLEError(.failed, "x", cause: CancellationError())] {
            let value = try JSONDecoder().decode(JSONSchema.Value.self, from: JSONEncoder().encode(error))
            #expect(try Self.schema().problems(of: value, as: "error") == [])
            let copy = try JSONDecoder().decode(BLEError.self, from: JSONEncoder().encode(error))
            #expect(copy.description == error.description)
        }
    }

    @Test func `every kind of BTHome object has the form of the schema`() throws {
        let schema = try Self.schema()
        var generator = SeededGenerator(seed: 1)
        var objects: [BTHomeObject] = []
        for kind in (UInt8.min...UInt8.max).compactMap(BTHomeKind.init(id:)) {
            let contents: [BTHomeObject.Content] =
                switch kind.coding {
                case .unsigned(let count, _): [0, 1 << (8 * count) - 1].map { .number($0) }
                case .signed(let count, _): [-1 << (8 * count - 1), 1 << (8 * count - 1) - 1].map { .number($0) }
                case .flag: [.flag(true), .flag(false)]
                case .button: BTHomeButton.allCases.map { .button($0) }
                case .dimmer: BTHomeDimmer.allCases.map { .dimmer($0, steps: 3) }
                case .command: BTHomeCommand.allCases.map { .command($0, arguments: [1, 0xFF]) }
                case .text: [.text("a"), .text("")]
                case .raw: [.raw([1, 0xFF]), .raw([])]
                case .version(let count):
                    [.version((0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) })]
                }
            objects += try contents.map { try BTHomeObject(kind, $0) }
        }
        #expect(objects.count > 100)
        for object in objects {
            let data = try JSONEncoder().encode(object)
            let value = try JSONDecoder().decode(JSONSchema.Value.self, from: data)
            #expect(try schema.problems(of: value, as: "btHomeObject") == [])
            #expect(try JSONDecoder().decode(BTHomeObject.self, from: data) == object)
        }
        let report = try BTHome(Array(objects.prefix(3)), address: [1, 2, 3, 4, 5, 6])
        let value = try JSONDecoder().decode(JSONSchema.Value.self, from: JSONEncoder().encode(report))
        #expect(try schema.problems(of: value, as: "btHome") == [])
        #expect(value["address"] == .string("01:02:03:04:05:06"))
    }

    @Test func `fields of all formats have the form of the schema, and are read as they were written`() throws {
        let schema = try Self.schema()
        var generator = SeededGenerator(seed: 2)
        var kinds: Set<String> = []
        for number in UInt32(0x2A00)...0x2C40 {
            guard let format = ValueFormat(of: BluetoothUUID(number)) else { continue }
            for count in 0...40 where count <= 8 || count.isMultiple(of: 4) {
                // Bytes of ones are special values of many kinds.
                let bytes = (0..<count).map { _ in count % 3 == 0 ? 0xFF : UInt8.random(in: 0...255, using: &generator)
                }
                guard let fields = try? format.decode(bytes) else { continue }
                let data = try JSONEncoder().encode(fields)
                for value in try JSONDecoder().decode(JSONSchema.Value.self, from: data).array {
                    #expect(try schema.problems(of: value, as: "field") == [])
                    kinds.formUnion([value["kind"]?.string].compactMap(\.self))
                }
                #expect(try JSONDecoder().decode([FieldValue].self, from: data) == fields)
            }
        }
        #expect(kinds.isSuperset(of: ["integer", "number", "flags", "choice", "special", "bytes", "fields"]))
    }

    @Test(arguments: TypedValues.all.indices)
    func `a typed value has the form of the schema, and is read as it was written`(_ index: Int) throws {
        let schema = try Self.schema()
        let typed = TypedValues.all[index]
        var generator = SeededGenerator(seed: UInt64(index))
        for round in 0..<400 {
            let limit: UInt8 = round % 2 == 0 ? 31 : 255
            let bytes = (0..<round % 33).map { _ in UInt8.random(in: 0...limit, using: &generator) }
            guard let value = try? typed.decode(bytes) as? any Codable & Hashable else { continue }
            try Self.check(value, schema)
        }
    }

    private static func check<Value: Codable & Hashable>(_ value: Value, _ schema: JSONSchema) throws {
        let encoder = JSONEncoder()
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        let decoder = JSONDecoder()
        decoder.nonConformingFloatDecodingStrategy = .convertFromString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        let data = try encoder.encode(value)
        let json = try decoder.decode(JSONSchema.Value.self, from: data)
        #expect(try schema.problems(of: json, as: "profileValue") == [], "\(String(decoding: data, as: UTF8.self))")
        let copy = try decoder.decode(Value.self, from: data)
        // NaN is not equal to itself.
        #expect(copy == value || "\(copy)" == "\(value)")
    }

    @Test func `a record and device information have bytes in hexadecimal`() throws {
        let schema = try Self.schema()
        try Self.check(BloodPressureRecord(sequenceNumber: 1, characteristic: Self.uuid, value: [1, 0xFF]), schema)
        try Self.check(RecordSelection(.all, operand: [1, 0xFF]), schema)
        try Self.check(CyclingPowerManufacturerData(company: 1, data: [0xFF]), schema)
        try Self.check(OffsetCompensationFailure.manufacturerSpecific(.init(company: 1, data: [0xFF])), schema)
        try Self.check(ValueTrigger.masked([0xFF]), schema)
        var information = DeviceInformation()
        information.regulatoryCertifications = [1, 0xFF]
        try Self.check(information, schema)
        let json = String(decoding: try JSONEncoder().encode(information), as: UTF8.self)
        #expect(json == #"{"regulatoryCertifications":"01ff"}"#)
    }
}
