import BLE
import Testing

@Suite struct AdvertisingElementTests {
    private static let long = BluetoothUUID("00112233-4455-6677-8899-aabbccddeeff")!

    /// Elements and their encodings; the structures of the first ones follow the rules of the Core Specification
    /// Supplement.
    private static let vectors: [(AdvertisingElement, String)] = [
        (.flags([.generalDiscoverable, .classicNotSupported]), "0106"),
        (
            .serviceUUIDs([BluetoothUUID(0x180D), BluetoothUUID(0x180F)], width: .bits16, isComplete: false),
            "020d180f18"
        ),
        (.services([BluetoothUUID(0x180D)]), "030d18"),
        (.services([]), "03"),
        (.serviceUUIDs([BluetoothUUID(0x1234_5678)], width: .bits32, isComplete: false), "0478563412"),
        (.services([BluetoothUUID(0x1234_5678)]), "0578563412"),
        (.serviceUUIDs([long], width: .bits128, isComplete: false), "06ffeeddccbbaa99887766554433221100"),
        (.services([long]), "07ffeeddccbbaa99887766554433221100"),
        (.localName("Stra", isComplete: false), "0853747261"),
        (.localName("Größe"), "094772c3b6c39f65"),
        (.txPower(-127), "0a81"), (.txPower(127), "0a7f"),
        (.solicitedServiceUUIDs([BluetoothUUID(0x1805)], width: .bits16), "140518"),
        (.solicitedServiceUUIDs([long], width: .bits128), "15ffeeddccbbaa99887766554433221100"),
        (.solicitedServiceUUIDs([BluetoothUUID(0x1805)], width: .bits32), "1f05180000"),
        (.serviceData(BluetoothUUID(0x180F), [0x64]), "160f1864"),
        (.serviceData(BluetoothUUID(0x1_0000), []), "2000000100"),
        (.serviceData(long, [1]), "21ffeeddccbbaa9988776655443322110001"),
        (.appearance(0x0341), "194103"),
        (.advertisingInterval(units: 0xFFFF), "1affff"),
        (.advertisingInterval(units: 0x01_0000), "2f000001"),
        (.advertisingInterval(units: 0x0100_0000), "2f00000001"),
        (.manufacturerData(company: 0x004C, [0x12]), "ff4c0012"),
        (.raw(AdvertisingStructure(type: 0x1C, bytes: [2])), "1c02"),
    ]

    @Test(arguments: vectors)
    func `an element is sent like this, and read again`(_ element: AdvertisingElement, _ hex: String) throws {
        let bytes = try #require(Hex.bytes(hex))
        let structure = try AdvertisingStructure(element)
        #expect([structure.type] + structure.bytes == bytes)
        #expect(try AdvertisingElement(structure) == element)
    }

    @Test(arguments: [
        "020d", "030d180f", "04000000", "0500000000ff", "0600", "07ff", "14ff", "15ffee", "1f05", "0a", "0a0000",
        "1600",
        "20000000", "2100", "19", "1900", "19000000", "1a", "1a00", "1a000000", "2f0000", "2f0000000000", "ff", "ff4c",
    ])
    func `a length that the type cannot have is an error`(_ hex: String) throws {
        let bytes = try #require(Hex.bytes(hex))
        let structure = AdvertisingStructure(type: bytes[0], bytes: Array(bytes.dropFirst()))
        #expect(throws: AdvertisingDataError.invalidLength(type: bytes[0], count: bytes.count - 1)) {
            try AdvertisingElement(structure)
        }
    }

    @Test func `a power of -128 dBm is invalid`() {
        #expect(throws: AdvertisingDataError.invalidValue(type: 0x0A)) {
            try AdvertisingElement(AdvertisingStructure(type: 0x0A, bytes: [0x80]))
        }
        for power in [-128, 128] {
            #expect(throws: AdvertisingDataError.invalidValue(type: 0x0A)) {
                try AdvertisingStructure(.txPower(power))
            }
        }
    }

    @Test(arguments: [0x08 as UInt8, 0x09])
    func `a name must be UTF-8`(_ type: UInt8) {
        #expect(throws: AdvertisingDataError.invalidText(type: type)) {
            try AdvertisingElement(AdvertisingStructure(type: type, bytes: [0x47, 0xC3]))
        }
    }

    @Test(arguments: [([], 0), ([0x06], 0x06), ([0x06, 0xFF, 0x01], 0x06)] as [([UInt8], UInt8)])
    func `octets of flags that are left out are zero, further ones reserved`(_ bytes: [UInt8], _ octet: UInt8) throws {
        let flags = AdvertisingFlags(rawValue: octet)
        #expect(try AdvertisingElement(AdvertisingStructure(type: 0x01, bytes: bytes)) == .flags(flags))
    }

    @Test func `a UUID that is wider than its list is an error`() {
        let wide = BluetoothUUID(0x1_0000)
        #expect(throws: AdvertisingDataError.uuidTooWide(wide)) {
            try AdvertisingStructure(.serviceUUIDs([wide], width: .bits16, isComplete: true))
        }
        #expect(throws: AdvertisingDataError.uuidTooWide(Self.long)) {
            try AdvertisingStructure(.serviceData(Self.long, [], width: .bits32))
        }
    }
}
