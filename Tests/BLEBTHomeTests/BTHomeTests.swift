import BLE
import BLEBTHome
import BLETestSupport
import Testing

@Suite struct BTHomeTests {
    private func decode(_ hex: String) throws -> BTHome? {
        let data = try #require(Hex.bytes(hex))
        return try BTHome.decode(Advertisement(serviceData: [BluetoothUUID(0xFCD2): data]))
    }

    @Test func `a report is read and sent`() throws {
        let temperature = try BTHomeObject(#require(BTHomeKind(id: 0x02)), value: 25.06)
        let humidity = try BTHomeObject(#require(BTHomeKind(id: 0x03)), .number(5055))
        let report = try BTHome([temperature, humidity])
        #expect(try decode("40 02ca09 03bf13") == report)
        #expect(
            try report.advertisement()
                == Advertisement(serviceData: [BluetoothUUID(0xFCD2): Hex.bytes("4002ca0903bf13")!]))
        #expect(humidity.value == 50.55)
    }

    @Test func `several objects of one kind keep their order`() throws {
        let objects = try #require(try decode("40 02ca09 02cf09 02cf08 03b718 03b717 015d")?.objects)
        #expect(objects.map(\.value) == [25.06, 25.11, 22.55, 63.27, 60.71, 93])
        #expect(
            objects.map(\.kind.name) == [
                "temperature", "temperature", "temperature", "humidity", "humidity", "battery",
            ])
    }

    @Test func `the first byte shows how the device advertises, and whether its address follows`() throws {
        #expect(try decode("40")?.isTriggerBased == false)
        #expect(try decode("44")?.isTriggerBased == true)
        let report = try #require(try decode("46 b2188d38c1a4 04138a01"))
        #expect(report.address == [0xA4, 0xC1, 0x38, 0x8D, 0x18, 0xB2])
        #expect(report.objects?.map(\.value) == [1008.83])
        #expect(
            try report.advertisement().serviceData[BluetoothUUID(0xFCD2)] == Hex.bytes("46b2188d38c1a404138a01"))
        // Bits 3 and 4 are reserved.
        #expect(try decode("58 015d") == decode("40 015d"))
    }

    @Test func `an unknown id ends what can be read, and is kept`() throws {
        let report = try #require(try decode("40 015d fe5d0903b718"))
        #expect(
            report.payload
                == .plain(
                    [try BTHomeObject(#require(BTHomeKind(id: 1)), .number(93))], rest: [0xFE, 0x5D, 9, 3, 0xB7, 0x18]))
        #expect(try report.advertisement().serviceData[BluetoothUUID(0xFCD2)] == Hex.bytes("40015dfe5d0903b718"))
    }

    @Test func `other service data is not a report`() throws {
        #expect(try BTHome.decode(Advertisement(serviceData: [BluetoothUUID(0xFEAA): [0x40]])) == nil)
    }

    @Test(
        arguments: [
            ("", .invalidLength(0)), ("00", .unsupportedVersion(0)), ("e102", .unsupportedVersion(7)),
            ("20 015d", .unsupportedVersion(1)), ("42 b2188d38c1", .invalidLength(6)),
            ("41 00112233010203", .invalidLength(8)), ("40 02ca", .invalidLength(3)), ("40 02", .invalidLength(2)),
            ("40 3a", .invalidLength(2)), ("40 3c01", .invalidLength(3)), ("40 3b", .invalidLength(2)),
            ("40 3b0201ff", .invalidLength(5)), ("40 53", .invalidLength(2)), ("40 530261", .invalidLength(4)),
            ("40 54ff00", .invalidLength(4)), ("40 f1000102", .invalidLength(5)),
            ("40 0f02", .invalidValue(field: "generic")), ("40 2dff", .invalidValue(field: "window")),
            ("40 3b02ff01", .invalidLength(5)), ("40 530187", .invalidText(field: "text")),
        ] as [(String, AdvertisementFormatError.Reason)])
    func `what is not by the rules is an error`(_ hex: String, _ reason: AdvertisementFormatError.Reason) {
        #expect(throws: AdvertisementFormatError("BTHome", reason)) { try decode(hex) }
    }

    @Test(
        arguments: [
            ("40 3afe 0161", [.button(.holdPress), .number(97)]), ("40 3a7f 0161", [.button(.none), .number(97)]),
            ("40 3c0302 0161", [.dimmer(.none, steps: 2), .number(97)]), ("40 3b02ff0102 0161", [.number(97)]),
            ("40 3b0005 3b0001", [.command(.on, arguments: [])]),
        ] as [(String, [BTHomeObject.Content])])
    func `an unknown event is none, and the rest of the report counts`(
        _ hex: String, _ contents: [BTHomeObject.Content]
    ) throws {
        #expect(try #require(try decode(hex)?.objects).map(\.content) == contents)
    }

    @Test func `an address has 6 bytes`() {
        #expect(throws: AdvertisementFormatError("BTHome", .invalidLength(1))) { try BTHome([], address: [1]) }
    }

    @Test(arguments: 0..<500)
    func `any report outlasts the air`(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let objects = try (0..<Int.random(in: 0...10, using: &generator)).map { _ in
            try BTHomeObject.random(using: &generator)
        }
        let address = (0..<6).map { _ in UInt8.random(in: 0...255, using: &generator) }
        let report = try BTHome(
            objects, isTriggerBased: Bool.random(using: &generator),
            address: Bool.random(using: &generator) ? address : nil)
        #expect(try BTHome.decode(report.advertisement()) == report)
    }
}
