import BLE
import BLEBeacons
import Testing

@Suite struct TrackerTests {
    private static let feaa = BluetoothUUID(0xFEAA)
    private static let short = "000102030405060708090a0b0c0d0e0f10111213"
    private static let long = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

    private static let frames: [(FindHubBeacon, String)] = [
        (.init(ephemeralID: Hex.bytes(short)!, protectsFromTracking: false, hashedFlags: 0xC6), "40" + short + "c6"),
        (.init(ephemeralID: Hex.bytes(short)!, protectsFromTracking: true, hashedFlags: 0), "41" + short + "00"),
        (.init(ephemeralID: Hex.bytes(short)!, protectsFromTracking: true), "41" + short),
        (.init(ephemeralID: Hex.bytes(long)!, protectsFromTracking: false), "40" + long),
        (.init(ephemeralID: Hex.bytes(long)!, protectsFromTracking: true, hashedFlags: 0xFF), "41" + long + "ff"),
    ]

    private func findHub(_ hex: String) throws -> FindHubBeacon? {
        try FindHubBeacon.decode(Advertisement(serviceData: [Self.feaa: #require(Hex.bytes(hex))]))
    }

    @Test(arguments: frames)
    func `a Find Hub frame is read and sent`(_ frame: FindHubBeacon, _ hex: String) throws {
        #expect(try findHub(hex) == frame)
        let data = try #require(Hex.bytes(hex))
        let advertisement = try frame.advertisement()
        #expect(advertisement == Advertisement(serviceData: [Self.feaa: data]))
        // Eddystone has the same UUID.
        #expect(advertisement.known(.beacons)?.value as? FindHubBeacon == frame)
        #expect(AdvertisementFormats.beacons.errors(in: advertisement) == [])
    }

    @Test func `a Find Hub frame of 20 bytes fits a packet, with its flags`() throws {
        var advertisement = try Self.frames[0].0.advertisement()
        advertisement.flags = .generalDiscoverable
        #expect(try advertisement.data().encode().count <= 31)
    }

    @Test(arguments: [0, 1, 19, 22, 30, 31, 34, 100])
    func `a Find Hub identifier of another length is an error`(_ count: Int) {
        for type: UInt8 in [0x40, 0x41] {
            let data = [type] + [UInt8](repeating: 7, count: count)
            #expect(throws: AdvertisementFormatError("Find Hub", .invalidLength(count + 1))) {
                try FindHubBeacon.decode(Advertisement(serviceData: [Self.feaa: data]))
            }
        }
        #expect(throws: AdvertisementFormatError("Find Hub", .invalidLength(count))) {
            try FindHubBeacon(ephemeralID: [UInt8](repeating: 7, count: count), protectsFromTracking: true)
                .advertisement()
        }
    }

    @Test(arguments: ["", "3f" + short, "42" + short, "00" + short, "30 00 0011223344556677"])
    func `other frames with the same UUID are not Find Hub's`(_ hex: String) throws {
        #expect(try findHub(hex) == nil)
    }

    @Test(
        arguments: [
            ("0100", .init(networkID: 1, isNearOwner: false), "Apple's network, separated from its owner"),
            ("0201", .init(networkID: 2, isNearOwner: true), "Google's network, near its owner"),
            (
                "ff00 0a0b", .init(networkID: 255, isNearOwner: false, payload: [10, 11]),
                "network 255, separated from its owner, 0a0b"
            ),
        ] as [(String, LocationTracker, String)])
    func `an unwanted tracker's advertisement is read, sent and shown`(
        _ hex: String, _ tracker: LocationTracker, _ text: String
    ) throws {
        let advertisement = Advertisement(serviceData: [LocationTracker.service: try #require(Hex.bytes(hex))])
        #expect(try LocationTracker.decode(advertisement) == tracker)
        #expect(try tracker.advertisement() == advertisement)
        #expect(advertisement.known(.beacons)?.value as? LocationTracker == tracker)
        #expect("\(tracker)" == text)
    }

    @Test func `the reserved bits beside that of the owner are ignored`() throws {
        for (byte, isNearOwner) in [(UInt8(0xFE), false), (0xFF, true)] {
            let advertisement = Advertisement(serviceData: [LocationTracker.service: [2, byte]])
            #expect(try LocationTracker.decode(advertisement)?.isNearOwner == isNearOwner)
        }
    }

    @Test(arguments: [[], [1]] as [[UInt8]])
    func `an unwanted tracker's advertisement has the network and the owner's bit`(_ data: [UInt8]) {
        #expect(throws: AdvertisementFormatError("Location tracker", .invalidLength(data.count))) {
            try LocationTracker.decode(Advertisement(serviceData: [LocationTracker.service: data]))
        }
    }

    @Test func `a Find Hub tracker is shown with its identifier and state`() {
        #expect("\(Self.frames[0].0)" == "EID \(Self.short)")
        #expect("\(Self.frames[1].0)" == "EID \(Self.short), protects from unwanted tracking")
    }
}
