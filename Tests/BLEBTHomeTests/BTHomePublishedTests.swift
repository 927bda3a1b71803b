import BLE
import BLEBTHome
import Testing

/// The examples that bthome-ble 3 (github.com/Bluetooth-Devices/bthome-ble, tests/test_parser_v2.py) publishes, with
/// its results.
@Suite struct BTHomePublishedTests {
    private func report(_ hex: String) throws -> BTHome {
        let data = try #require(Hex.bytes(hex))
        return try #require(try BTHome.decode(Advertisement(serviceData: [BluetoothUUID(0xFCD2): data])))
    }

    private func objects(_ hex: String) throws -> [BTHomeObject] { try #require(try report(hex).objects) }

    @Test(
        arguments: [
            ("4004138a01", [1008.83]), ("4404138a01", [1008.83]), ("400009", [9]), ("4000bd", [189]),
            ("4002ca0903bf13", [25.06, 50.55]), ("4003bf1302ca09", [50.55, 25.06]),
            ("400009015d025d0903b718", [9, 93, 23.97, 63.27]), ("40015dfe5d0903b718", [93]), ("40feca09", []),
            ("42b2188d38c1a404138a01", [1008.83]), ("4005138a14", [13460.67]), ("40065e1f", [80.3]),
            ("40073e1d", [74.86]), ("4008ca06", [17.38]), ("400960", [96]), ("400a138a14", [1346.067]),
            ("400b021b00", [69.14]), ("400c020c", [3.074]), ("400d120c0e021c", [3090, 7170]), ("4012e204", [1250]),
            ("40133301", [307]), ("4014020c", [30.74]), ("403f020c", [307.4]), ("40400c00", [12]), ("40414e00", [7.8]),
            ("40424e3400", [13.39]), ("40434e34", [13.39]), ("40444e34", [133.9]), ("40624099dfff", [-2.123456]),
            ("40451101", [27.3]), ("404632", [5.0]), ("40478756", [2215.1]), ("4048dc87", [34780]),
            ("4049dc87", [34.78]), ("404a020c", [307.4]), ("404b138a14", [1346.067]), ("404c41018a01", [25821.505]),
            ("404d12138a14", [344593.17]), ("404e87562a01", [19551.879]), ("404f87562a01", [19551.879]),
            // 2023-05-14 19:41:17 UTC.
            ("44505d396164", [1_684_093_277]), ("44518756", [22.151]), ("40630057d0ff", [-3.123456]),
            ("44528756", [22.151]), ("405587562a01", [19551.879]), ("4056e803", [1000]), ("4057ea", [-22]),
            ("4058ea", [-7.7]), ("4059ea", [-22]), ("405aeaea", [-5398]), ("405bea0234ea", [-365_690_134]),
            ("405c02fbffff", [-12.78]), ("405d02ea", [-5.63]), ("4002ca0902cf09", [25.06, 25.11]),
            ("4002ca0902cf0902cf0803b71803b717015d", [25.06, 25.11, 22.55, 63.27, 60.71, 93]),
            ("4000010b0000004a0d0901330ce90c", [1, 0, 231.7, 51, 3.305]), ("405e3f755f11d5", [300.15, 5454.5]),
            ("406001", [1]), ("4061ac0d", [3500]), ("406402", [2]),
        ] as [(String, [Double])])
    func `numbers`(_ hex: String, _ values: [Double]) throws {
        #expect(try objects(hex).map(\.value) == values)
    }

    @Test(
        arguments: [
            ("400f01", [.flag(true)]), ("401001", [.flag(true)]), ("401100", [.flag(false)]), ("402d01", [.flag(true)]),
            ("403a04", [.button(.longPress)]), ("403a80", [.button(.holdPress)]),
            ("403a003a013a03", [.button(.none), .button(.press), .button(.triplePress)]),
            ("403c0103", [.dimmer(.rotateLeft, steps: 3)]), ("44530c48656c6c6f20576f726c6421", [.text("Hello World!")]),
            ("44540c48656c6c6f20576f726c6421", [.raw(Array("Hello World!".utf8))]),
            ("4000a70c780b1000", [.number(167), .number(2936), .flag(false)]),
            ("40002e01641e012e34451601", [.number(46), .number(100), .flag(true), .number(52), .number(278)]),
            ("40005201643a01", [.number(82), .number(100), .button(.press)]),
            ("440023015e3a00", [.number(35), .number(94), .button(.none)]),
        ] as [(String, [BTHomeObject.Content])])
    func `flags, events, text and bytes`(_ hex: String, _ contents: [BTHomeObject.Content]) throws {
        #expect(try objects(hex).map(\.content) == contents)
    }

    #if BTHomeEncryption
        private static func key(_ hex: String) throws -> BTHomeKey {
            let bytes = try #require(Hex.bytes(hex))
            return try #require(BTHomeKey(bytes))
        }

        private static let key = "231d39c1d7cc1ab1aee224cd096db932"

        @Test(
            arguments: [
                ("41a47266c95f730011223378237214", key, "5448e68f80a5", [.number(2506), .number(5055)]),
                ("43a5808fe64854f196c06ffb4900112233f08ecbde", key, "5448e68f80a5", [.number(2506), .number(5055)]),
                ("4187b90011223372b0231f", key, "5448e68f80a5", [.flag(true)]),
                (
                    "450aeb84467f85ba0100003188788c", "90bffd73cb6b26ef58a7a8eba9232036", "b43522f53da4",
                    [.number(7), .number(100), .button(.press)]
                ),
            ] as [(String, String, String, [BTHomeObject.Content])])
        func `encrypted reports`(_ hex: String, _ key: String, _ address: String, _ contents: [BTHomeObject.Content])
            throws
        {
            #expect(
                try report(hex).objects(
                    key: Self.key(key), address: #require(Hex.bytes(address))
                ).map(\.content) == contents)
        }

        @Test(arguments: [
            ("41a47266c95f730011223378237214", "814aac74c4f17b6c1581e1ab87816b99"),
            ("41d2fcefe52eb212d600112233bc38c966", key),
        ])
        func `a report under another key`(_ hex: String, _ key: String) {
            #expect(throws: BTHomeEncryptionError.authenticationFailed) {
                try report(hex).objects(
                    key: Self.key(key),
                    address: #require(Hex.bytes("5448e68f80a5")))
            }
        }
    #endif
}
