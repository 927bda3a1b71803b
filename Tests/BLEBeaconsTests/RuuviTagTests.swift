import BLE
import BLEBeacons
import BLETestSupport
import Testing

/// The vectors are those of docs.ruuvi.com.
@Suite struct RuuviTagTests {
    private static let address = Hex.bytes("cbb8334c884f")!

    private static let vectors: [(String, RuuviTag)] = [
        (
            "0512fc5394c37c0004fffc040cac364200cdcbb8334c884f",
            RuuviTag(
                temperatureCelsius: 24.3, humidityPercent: 53.49, pressurePascals: 100_044,
                accelerationMilligravities: .init(x: 4, y: -4, z: 1036),
                batteryMillivolts: 2977, txPower: 4, movementCount: 66, sequenceNumber: 205, address: address)
        ),
        (
            "057ffffffefffe7fff7fff7fffffdefefffecbb8334c884f",
            RuuviTag(
                temperatureCelsius: 163.835, humidityPercent: 163.835, pressurePascals: 115_534,
                accelerationMilligravities: .init(x: 32767, y: 32767, z: 32767), batteryMillivolts: 3646, txPower: 20,
                movementCount: 254,
                sequenceNumber: 65534, address: address)
        ),
        (
            "058001000000008001800180010000000000cbb8334c884f",
            RuuviTag(
                temperatureCelsius: -163.835, humidityPercent: 0, pressurePascals: 50_000,
                accelerationMilligravities: .init(x: -32767, y: -32767, z: -32767), batteryMillivolts: 1600,
                txPower: -40, movementCount: 0,
                sequenceNumber: 0, address: address)
        ),
        ("058000ffffffff800080008000ffffffffffffffffffffff", RuuviTag()),
        (
            "03291a1ece1efc18f94202ca0b53",
            RuuviTag(
                format: .rawV1, temperatureCelsius: 26.3, humidityPercent: 20.5, pressurePascals: 102_766,
                accelerationMilligravities: .init(x: -1000, y: -1726, z: 714), batteryMillivolts: 2899)
        ),
        (
            "03ff7f63ffff7fff7fff7fffffff",
            RuuviTag(
                format: .rawV1, temperatureCelsius: 127.99, humidityPercent: 127.5, pressurePascals: 115_535,
                accelerationMilligravities: .init(x: 32767, y: 32767, z: 32767), batteryMillivolts: 65535)
        ),
        (
            "0300ff6300008001800180010000",
            RuuviTag(
                format: .rawV1, temperatureCelsius: -127.99, humidityPercent: 0, pressurePascals: 50_000,
                accelerationMilligravities: .init(x: -32767, y: -32767, z: -32767), batteryMillivolts: 0)
        ),
    ]

    private func decode(_ bytes: [UInt8]) throws -> RuuviTag? {
        try RuuviTag.decode(Advertisement(manufacturerData: [0x0499: bytes]))
    }

    @Test(arguments: vectors)
    func `measurements are read and sent`(_ hex: String, _ tag: RuuviTag) throws {
        let bytes = try #require(Hex.bytes(hex))
        #expect(try decode(bytes) == tag)
        #expect(try tag.advertisement() == Advertisement(manufacturerData: [0x0499: bytes]))
    }

    @Test(arguments: 0..<500)
    func `any measurements outlast the air`(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let format: UInt8 = Bool.random(using: &generator) ? 3 : 5
        let bytes = [format] + (1..<(format == 3 ? 14 : 24)).map { _ in UInt8.random(in: 0...255, using: &generator) }
        guard let tag = try? decode(bytes) else {
            #expect(format == 3 && bytes[3] > 99)
            return
        }
        #expect(try tag.advertisement().manufacturerData == [0x0499: bytes])
    }

    @Test func `other data is not a tag`() throws {
        #expect(try RuuviTag.decode(Advertisement(manufacturerData: [0x004C: [5]])) == nil)
    }

    @Test(
        arguments: [
            ("", .invalidLength(0)), ("05", .invalidLength(1)), ("03", .invalidLength(1)),
            (vectors[0].0 + "00", .invalidLength(25)), (String(vectors[4].0.dropLast(2)), .invalidLength(13)),
            ("0600", .unsupportedVersion(6)), ("e1", .unsupportedVersion(0xE1)),
            ("0329 1a64 ce1efc18f94202ca0b53", .invalidValue(field: "temperature")),
            ("0329 1a1e ce1e8000f94202ca0b53", .invalidValue(field: "acceleration")),
        ] as [(String, AdvertisementFormatError.Reason)])
    func `what is not by the rules is an error`(_ hex: String, _ reason: AdvertisementFormatError.Reason) throws {
        let bytes = try #require(Hex.bytes(hex))
        #expect(throws: AdvertisementFormatError("RuuviTag", reason)) { try decode(bytes) }
    }

    private static let old = vectors[4].1

    @Test(arguments: [
        (RuuviTag(temperatureCelsius: 163.84), "temperature"), (RuuviTag(temperatureCelsius: .nan), "temperature"),
        (RuuviTag(humidityPercent: -1), "humidity"), (RuuviTag(humidityPercent: 163.8375), "humidity"),
        (RuuviTag(pressurePascals: 49_999), "pressure"), (RuuviTag(pressurePascals: 115_535), "pressure"),
        (RuuviTag(pressurePascals: .min), "pressure"),
        (RuuviTag(accelerationMilligravities: .init(y: -32768)), "acceleration"),
        (RuuviTag(batteryMillivolts: 1599), "voltage"),
        (RuuviTag(batteryMillivolts: 3647), "voltage"), (RuuviTag(txPower: 3), "power"),
        (RuuviTag(txPower: 22), "power"),
        (RuuviTag(movementCount: 255), "movement count"), (RuuviTag(sequenceNumber: 65535), "sequence number"),
        (RuuviTag(address: [1]), "address"), (RuuviTag(address: [UInt8](repeating: 255, count: 6)), "address"),
        (RuuviTag(format: .rawV1), "humidity"),
        (changed { $0.txPower = 4 }, "field that format 3 does not have"),
        (changed { $0.temperatureCelsius = -128 }, "temperature"),
        (changed { $0.accelerationMilligravities.z = nil }, "acceleration"),
        (changed { $0.batteryMillivolts = 65536 }, "voltage"),
    ])
    func `a value that cannot be encoded is an error`(_ tag: RuuviTag, _ field: String) {
        #expect(throws: AdvertisementFormatError("RuuviTag", .invalidValue(field: field))) { try tag.advertisement() }
    }

    private static func changed(_ change: (inout RuuviTag) -> Void) -> RuuviTag {
        var tag = old
        change(&tag)
        return tag
    }
}
