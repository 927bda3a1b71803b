import BLE
import BLEBeacons
import Testing

@Suite struct EddystoneTests {
    private static let service = BluetoothUUID(0xFEAA)

    private static let frames: [(Eddystone, String)] = [
        (
            .uid(
                namespace: Hex.bytes("8b0ca750095477cb3e77")!, instance: Hex.bytes("010203040506")!, txPower: -18),
            "00ee 8b0ca750095477cb3e77 010203040506 0000"
        ),
        (.url("https://goo.gl/Aq18zF", txPower: 18), "1012 03 676f6f2e676c2f417131387a46"),
        (.url("http://www.minewtech.com", txPower: 4), "1004 00 6d696e65777465636807"),
        (.url("https://www.example.org/a.gov/b.info", txPower: -100), "109c 01 6578616d706c6501 61 06 62 0b"),
        (.url("http://", txPower: 20), "1014 02"),
        (.url("http://12345678901234567", txPower: 0), "1000 02 3132333435363738393031323334353637"),
        (
            .telemetry(
                EddystoneTelemetry(
                    batteryMillivolts: 3000, temperatureCelsius: -1.5, advertisementCount: 0x0102_0304,
                    uptimeDeciseconds: 0xFFFF_FFFF)), "2000 0bb8 fe80 01020304 ffffffff"
        ),
        (
            .telemetry(EddystoneTelemetry(advertisementCount: 0, uptimeDeciseconds: 10)),
            "2000 0000 8000 00000000 0000000a"
        ),
        (
            .encryptedTelemetry(
                ciphertext: Hex.bytes("000102030405060708090a0b")!, salt: 0xABCD, integrityCheck: 0x1234),
            "2001 000102030405060708090a0b abcd 1234"
        ),
        (.ephemeralID(Hex.bytes("0011223344556677")!, txPower: -100), "309c 0011223344556677"),
    ]

    private func decode(_ hex: String) throws -> Eddystone? {
        try Eddystone.decode(Advertisement(serviceData: [Self.service: #require(Hex.bytes(hex))]))
    }

    @Test(arguments: frames)
    func `a frame is read and sent`(_ frame: Eddystone, _ hex: String) throws {
        #expect(try decode(hex) == frame)
        let data = try #require(Hex.bytes(hex))
        #expect(
            try frame.advertisement()
                == Advertisement(serviceUUIDs: [Self.service], serviceData: [Self.service: data]))
        // Every frame fits a packet, with flags.
        var whole = try frame.advertisement()
        whole.flags = .generalDiscoverable
        #expect(try whole.data().encode().count <= 31)
    }

    @Test func `an identity may lack the reserved bytes`() throws {
        let (frame, hex) = Self.frames[0]
        #expect(try decode(String(hex.dropLast(5))) == frame)
    }

    @Test func `other service data, and that of Find Hub, is not a frame`() throws {
        #expect(try Eddystone.decode(Advertisement(serviceData: [BluetoothUUID(0xFCD2): [0x40]])) == nil)
        for hex in ["40", "41", "4000"] { #expect(try decode(hex) == nil) }
    }

    @Test func `the uptime counts tenths of a second`() {
        #expect(EddystoneTelemetry(advertisementCount: 0, uptimeDeciseconds: 15).uptime == .milliseconds(1500))
    }

    @Test(arguments: frames.map(\.1))
    func `a frame with a byte more or less is an error, or another address`(_ hex: String) throws {
        let data = try #require(Hex.bytes(hex))
        for other in [data + [0x61], Array(data.dropLast())] {
            let result = Result { try Eddystone.decode(Advertisement(serviceData: [Self.service: other])) }
            if data[0] == 0x10, (3...20).contains(other.count) {
                _ = try result.get()
            } else {
                #expect(throws: AdvertisementFormatError("Eddystone", .invalidLength(other.count))) { try result.get() }
            }
        }
    }

    @Test(
        arguments: [
            ("", .invalidLength(0)), ("20", .invalidLength(1)), ("4200", .unsupportedVersion(0x42)),
            ("2002 00", .unsupportedVersion(2)), ("01ee", .unsupportedVersion(1)),
            ("1015 02 61", .invalidValue(field: "power")), ("109b 02 61", .invalidValue(field: "power")),
            ("307f 0011223344556677", .invalidValue(field: "power")), ("1000 04 61", .invalidValue(field: "scheme")),
            ("1000 02 0e", .invalidValue(field: "URL")), ("1000 02 20", .invalidValue(field: "URL")),
            ("1000 02 7f", .invalidValue(field: "URL")), ("1000 02 ff", .invalidValue(field: "URL")),
            ("00ee 8b0ca750095477cb3e77 010203040506 0001", .invalidValue(field: "reserved bytes")),
        ] as [(String, AdvertisementFormatError.Reason)])
    func `what is reserved is an error`(_ hex: String, _ reason: AdvertisementFormatError.Reason) {
        #expect(throws: AdvertisementFormatError("Eddystone", reason)) { try decode(hex) }
    }

    @Test(
        arguments: [
            (.uid(namespace: [1], instance: [], txPower: 0), .invalidLength(1)),
            (.uid(namespace: [UInt8](repeating: 0, count: 10), instance: [], txPower: 0), .invalidLength(0)),
            (.ephemeralID([1], txPower: 0), .invalidLength(1)),
            (.ephemeralID([UInt8](repeating: 0, count: 8), txPower: 21), .invalidValue(field: "power")),
            (.encryptedTelemetry(ciphertext: [], salt: 0, integrityCheck: 0), .invalidLength(0)),
            (.url("ftp://example.com", txPower: 0), .invalidValue(field: "scheme")),
            (.url("http://ä", txPower: 0), .invalidValue(field: "URL")),
            (.url("http://123456789012345678", txPower: 0), .invalidLength(19)),
            (telemetry(millivolts: 0), .invalidValue(field: "battery voltage")),
            (telemetry(millivolts: 65536), .invalidValue(field: "battery voltage")),
            (telemetry(temperatureCelsius: -128), .invalidValue(field: "temperature")),
            (telemetry(temperatureCelsius: .nan), .invalidValue(field: "temperature")),
            (telemetry(temperatureCelsius: .infinity), .invalidValue(field: "temperature")),
        ] as [(Eddystone, AdvertisementFormatError.Reason)])
    func `a value that cannot be encoded is an error`(_ frame: Eddystone, _ reason: AdvertisementFormatError.Reason) {
        #expect(throws: AdvertisementFormatError("Eddystone", reason)) { try frame.advertisement() }
    }

    private static func telemetry(millivolts: Int? = nil, temperatureCelsius: Double? = nil) -> Eddystone {
        .telemetry(
            EddystoneTelemetry(
                batteryMillivolts: millivolts, temperatureCelsius: temperatureCelsius, advertisementCount: 0,
                uptimeDeciseconds: 0))
    }
}
