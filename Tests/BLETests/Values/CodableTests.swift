import BLETestSupport
import FoundationEssentials
import Testing

@testable import BLE

@Suite(.hangLimit) struct CodableTests {
    private func json(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    private func read<Value: Decodable>(_ text: String, as: Value.Type = Value.self, _ central: Central? = nil) throws
        -> Value
    {
        let decoder = JSONDecoder()
        decoder.userInfo[.central] = central
        return try decoder.decode(Value.self, from: Data(text.utf8))
    }

    @Test func `a reading has a plain value, and a unit if there is one`() throws {
        let readings = [
            SensorReading(name: "temperature", value: .number(21.5), unit: "°C"),
            SensorReading(name: "battery low", value: .flag(true)), SensorReading(name: "state", value: .text("open")),
        ]
        let expected = [
            #"{"name":"temperature","unit":"°C","value":21.5}"#, #"{"name":"battery low","value":true}"#,
            #"{"name":"state","value":"open"}"#,
        ]
        #expect(try json(readings) == "[\(expected.joined(separator: ","))]")
        #expect(throws: EncodingError.self) { try json(SensorReading(name: "x", value: .number(.nan))) }
    }

    @Test func `a UUID is text, and a key`() throws {
        let values = [BluetoothUUID(0x180F): [BluetoothUUID("6e400001-b5a3-f393-e0a9-e50e24dcca9e")!]]
        let text = #"{"180f":["6e400001-b5a3-f393-e0a9-e50e24dcca9e"]}"#
        #expect(try json(values) == text)
        #expect(try read(text) == values)
        #expect(try read(#"["0000180F-0000-1000-8000-00805F9B34FB"]"#) == [BluetoothUUID(0x180F)])
        #expect(throws: DecodingError.self) { try read(#"["battery"]"#, as: [BluetoothUUID].self) }
    }

    @Test func `an advertisement is read as it was written`() throws {
        let full = Advertisement(
            localName: "Strap", rssi: -60, txPower: 4, serviceUUIDs: [BluetoothUUID(0x180F), BluetoothUUID(0x180D)],
            manufacturerData: [0x004C: [2, 0x15]], serviceData: [BluetoothUUID(0xFEAA): [0x20]], appearance: 833,
            deviceClass: 0x240404, addressType: .random, isConnectable: true, flags: [.generalDiscoverable],
            solicitedServiceUUIDs: [BluetoothUUID(0x1805)], advertisingInterval: .microseconds(20_625),
            structures: [AdvertisingStructure(type: 0xFF, bytes: [0x4C, 0, 2])])
        let text = try json(full)
        #expect(
            text == #"""
                {"addressType":"random","advertisingIntervalMilliseconds":20.625,"appearance":833,"deviceClass":2360324,"flags":2,\#
                "isConnectable":true,"localName":"Strap","manufacturerData":{"004c":"0215"},"rssi":-60,\#
                "serviceData":{"feaa":"20"},"serviceUUIDs":["180d","180f"],"solicitedServiceUUIDs":["1805"],\#
                "structures":[{"bytes":"4c0002","type":255}],"txPower":4}
                """#)
        #expect(try read(text) == full)
        #expect(try json(Advertisement()) == "{}")
        #expect(try read("{}") == Advertisement())
    }

    @Test(arguments: [
        #"{"manufacturerData":{"4c":"00"}}"#, #"{"manufacturerData":{"004c":"0"}}"#, #"{"serviceData":{"x":"00"}}"#,
        #"{"rssi":"strong"}"#, #"{"advertisingIntervalMilliseconds":-1}"#,
        #"{"advertisingIntervalMilliseconds":1e300}"#,
    ])
    func `an invalid advertisement is refused`(_ text: String) {
        #expect(throws: DecodingError.self) { try read(text, as: Advertisement.self) }
    }

    @Test func `a discovery travels as id and advertisement, and returns with a central`() async throws {
        let bench = try await Bench()
        let found = Discovery(peripheral: bench.strap, advertisement: Advertisement(rssi: -50))
        let text = #"{"advertisement":{"rssi":-50},"peripheral":"strap"}"#
        #expect(try json(found) == text)
        #expect(try read(text, bench.central) == found)
        let error = #expect(throws: DecodingError.self) { try read(text, as: Discovery.self) }
        #expect("\(error!)".contains("userInfo[.central]"))
    }

    private struct Other: Error {}

    @Test func `an error keeps its details, and the text of a foreign cause`() throws {
        let cause = BLEError(.timedOut, "it took too long")
        let error = BLEError(
            .attributeError, "no", attError: .unlikelyError, stackErrorName: "org.bluez.Error.Failed",
            peripheral: "strap", service: BluetoothUUID(0x180F), characteristic: BluetoothUUID(0x2A19),
            missingUUIDs: [BluetoothUUID(0x2902)], disconnectReason: .remote, isRetryable: true, remedy: "Try.",
            cause: cause)
        let text = try json(error)
        #expect(
            text == #"""
                {"attError":14,"cause":{"code":"timedOut","isRetryable":true,"mayHaveReachedPeripheral":true,\#
                "message":"it took too long"},"characteristic":"2a19","code":"attributeError",\#
                "disconnectReason":"remote","isRetryable":true,"mayHaveReachedPeripheral":false,"message":"no",\#
                "missingUUIDs":["2902"],"peripheral":"strap","remedy":"Try.","service":"180f",\#
                "stackErrorName":"org.bluez.Error.Failed"}
                """#)
        let copy = try read(text, as: BLEError.self)
        #expect(copy.description == error.description && copy.isRetryable && copy.missingUUIDs == error.missingUUIDs)
        #expect((copy.cause as? BLEError)?.code == .timedOut)
        let foreign = try read(json(BLEError(.failed, "x", cause: Other())), as: BLEError.self)
        #expect((foreign.cause as? BLEError)?.message == "Other()")
        // The facts of a code of another module, or of none.
        let device = BLEError(BLEError.Code("deviceBusy", isRetryable: true, mayHaveReachedPeripheral: true), "x")
        let received = try read(json(device), as: BLEError.self)
        #expect(received.code == device.code && received.isRetryable && received.mayHaveReachedPeripheral)
        let unknown = try read(#"{"code":"timedOut","message":"x"}"#, as: BLEError.self)
        #expect(!unknown.isRetryable && unknown.mayHaveReachedPeripheral)
        #expect(try read(#"{"code":"failed","message":"x","cause":null}"#, as: BLEError.self).cause == nil)
    }

    @Test func `a decimal number keeps its digits, and is a number for others`() throws {
        let temperature = MedFloat32(mantissa: 3650, exponent: -2)!
        #expect(try json(temperature) == #"{"bits":4261416514,"value":36.5}"#)
        #expect(try read(json(temperature)) == temperature)
        #expect(try json(MedFloat16.nan) == #"{"bits":2047}"#)
        #expect(try read(#"{"value":36.5}"#) == MedFloat16(36.5))
    }

    @Test func `formats are their names, and nothing else is one`() throws {
        #expect(try json([IntegerFormat.uint16, .int64]) == #"["uint16","int64"]"#)
        #expect(try read(#"["uint24"]"#) == [IntegerFormat.uint24])
        for text in [#"["uint64"]"#, #"[{"byteCount":8,"isSigned":false}]"#] {
            #expect(throws: DecodingError.self) { try read(text, as: [IntegerFormat].self) }
        }
    }

    @Test func `pauses out of range do not overflow`() {
        let backoff = Backoff(initial: .seconds(20), factor: .max, maximum: .seconds(60))
        #expect(backoff.pause(afterFailures: 2) == backoff.maximum)
    }

    @Test(arguments: [Duration.seconds(-1), .seconds(10_000_000_000_000)])
    func `an interval out of range can be stored`(_ interval: Duration) throws {
        #expect(try read(json(Advertisement(advertisingInterval: interval)), as: Advertisement.self).rssi == nil)
    }

    @Test func `services can be stored`() throws {
        #expect(try read(json(Bench.database)) == Bench.database)
        #expect(try read(json(Bench.level.key)) == Bench.level.key)
    }
}
