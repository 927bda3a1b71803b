import BLE
import BLEBTHome
import Testing

/// The lines in which reports and their objects are shown.
@Suite struct BTHomeDescriptionTests {
    @Test(
        arguments: [
            (0x00, .number(9), "packet id 9"), (0x01, .number(97), "battery 97 %"),
            (0x02, .number(2506), "temperature 25.06 °C"), (0x02, .number(-1500), "temperature -15 °C"),
            (0x58, .number(-128), "temperature -44.8 °C"), (0x3F, .number(3074), "rotation 307.4°"),
            (0x46, .number(50), "UV index 5"), (0x62, .number(1), "speed 0.000001 m/s"),
            (0x62, .number(-2_147_483_648), "speed -2147.483648 m/s"),
            (0x3E, .number(4_294_967_295), "count 4294967295"),
            (0x0A, .number(1_346_067), "energy 1346.067 kWh"), (0x0D, .number(0), "pm2.5 0 µg/m³"),
            (0x2D, .flag(true), "window open"), (0x2D, .flag(false), "window closed"),
            (0x1F, .flag(true), "lock unlocked"), (0x1F, .flag(false), "lock locked"),
            (0x28, .flag(true), "safety safe"), (0x10, .flag(true), "power on"), (0x0F, .flag(false), "generic off"),
            (0x15, .flag(true), "battery low yes"), (0x3A, .button(.longDoublePress), "button long double press"),
            (0x3A, .button(.none), "button none"), (0x3C, .dimmer(.none, steps: 3), "dimmer none"),
            (0x3C, .dimmer(.rotateLeft, steps: 3), "dimmer rotate left 3 steps"),
            (0x3C, .dimmer(.rotateRight, steps: 1), "dimmer rotate right 1 step"),
            (0x3B, .command(.toggle, arguments: []), "command toggle"),
            (0x3B, .command(.stepUp, arguments: [1, 0xAB]), "command step up 0x01ab"),
            (0x53, .text("Hello"), "text Hello"), (0x54, .raw([0x12, 0x34]), "raw 0x1234"),
            (0x54, .raw([]), "raw no bytes"),
            (0xF2, .version([6, 1, 0]), "firmware version 6.1.0"),
        ] as [(UInt8, BTHomeObject.Content, String)])
    func `an object has its name and value`(_ id: UInt8, _ content: BTHomeObject.Content, _ text: String) throws {
        #expect("\(try BTHomeObject(#require(BTHomeKind(id: id)), content))" == text)
    }

    @Test func `each binary sensor says on and off in different words`() throws {
        for kind in BTHomeKind.all where kind.coding == .flag {
            let (off, on) = (try BTHomeObject(kind, .flag(false)), try BTHomeObject(kind, .flag(true)))
            #expect("\(off)" != "\(on)")
            #expect("\(off)".hasPrefix("\(kind.name) "))
            #expect("\(on)".hasPrefix("\(kind.name) "))
        }
    }

    @Test func `a report has its objects`() throws {
        let battery = try BTHomeObject(#require(BTHomeKind(id: 0x01)), .number(97))
        let temperature = try BTHomeObject(#require(BTHomeKind(id: 0x02)), .number(2506))
        #expect("\(try BTHome([]))" == "no objects")
        #expect("\(try BTHome([battery]))" == "battery 97 %")
        #expect("\(try BTHome([battery, temperature], isTriggerBased: true))" == "battery 97 %, temperature 25.06 °C")
    }

    @Test(
        arguments: [
            ("40 0161 fe", "battery 97 %, 1 unknown byte"), ("40 fe0102", "3 unknown bytes"), ("40", "no objects"),
            ("41 a47266c95f73 00112233 78237214", "encrypted, counter 857870592"),
        ])
    func `a report says what it does not decode`(_ data: String, _ text: String) throws {
        let advertisement = Advertisement(serviceData: [BluetoothUUID(0xFCD2): try #require(Hex.bytes(data))])
        #expect("\(try #require(try BTHome.decode(advertisement)))" == text)
    }

    @Test func `events are in words`() {
        let buttons = [
            "none", "press", "double press", "triple press", "long press", "long double press", "long triple press",
            "hold press", "hold release",
        ]
        #expect(BTHomeButton.allCases.map { "\($0)" } == buttons)
        #expect(BTHomeDimmer.allCases.map { "\($0)" } == ["none", "rotate left", "rotate right"])
        #expect(BTHomeCommand.allCases.map { "\($0)" } == ["off", "on", "toggle", "step up", "step down"])
    }
}
