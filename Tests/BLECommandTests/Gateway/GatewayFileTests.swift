import BLE
import BLEDefinitions
import BLETestSupport
import FoundationEssentials
import Testing

@testable import BLECommand

struct GatewayFileTests {
    private func read(_ text: String) throws -> GatewayConfiguration {
        try GatewayFile.configuration(json: Data(text.utf8))
    }

    @Test func `a file has the broker, the topics and the devices`() throws {
        let configuration = try read(
            """
            {"id": "kitchen", "prefix": "home/ble", "discovery": "ha",
             "broker": {"host": "broker.local", "port": 1884, "user": "ble", "password": "secret", "tls": {"ca": "ca.pem"}},
             "devices": {
               "freezer": {"address": "c4:7c:8d:00:00:01", "name": "Freezer", "expiry": 60,
                           "bthomeKey": "231d39c1d7cc1ab1aee224cd096db932"},
               "strap": {"address": "C4:7C:8D:00:00:02", "values": ["heart-rate/heart-rate-measurement", "2a19"]},
               "tags": {"company": "0499"}, "beds": {"localName": "Bed"}, "thermometers": {"service": "fcd2"}}}
            """)
        #expect(configuration.id == "kitchen")
        #expect(configuration.prefix == "home/ble")
        #expect(configuration.discoveryPrefix == "ha")
        #expect(configuration.broker.port == 1884)
        #expect(configuration.broker.tls?.certificateAuthorities == "ca.pem")
        let devices = Dictionary(uniqueKeysWithValues: configuration.devices.map { ($0.key, $0) })
        #expect(devices["freezer"]?.match == .address(Peripheral.ID(rawValue: "C4:7C:8D:00:00:01")))
        #expect(devices["freezer"]?.expiry == .seconds(60))
        #expect(devices["freezer"]?.bthomeKey?.count == 16)
        #expect(devices["strap"]?.values.map(\.characteristic) == [BluetoothUUID(0x2A37), BluetoothUUID(0x2A19)])
        #expect(devices["strap"]?.values.first?.service == BluetoothUUID(0x180D))
        #expect(devices["tags"]?.match == .company(0x0499))
        #expect(devices["beds"]?.match == .name("Bed"))
        #expect(devices["thermometers"]?.match == .service(BluetoothUUID(0xFCD2)))
    }

    @Test func `a device has a key, profiles, and formats of one's own`() throws {
        let configuration = try read(
            """
            {"id": "kitchen",
             "formats": {
               "soil": {"company": "0499", "begins": "03", "length": 8, "order": "big", "fields": {
                 "temperature": {"at": 1, "type": "i16", "factor": 0.1, "add": -40, "unit": "°C", "unknown": -32768},
                 "moisture": {"at": 3, "type": "u8", "unit": "%", "unknown": [254, 255]},
                 "leak": {"at": 4, "type": "bit", "bit": 7}, "level": {"at": 4, "type": "bit", "bit": 6}}},
               "counter": {"fields": {"count": {"at": 0, "type": "u32"}}}},
             "devices": {
               "My Watch!": {"irk": "ec0234a357c8ad05341010a60a397d9b"},
               "pot": {"company": "0499", "format": "soil"},
               "meter": {"address": "C4:7C:8D:00:00:02", "values": ["ff01"], "formats": {"ff01": "counter"},
                         "profiles": ["heart-rate", "battery", "device-information"]}}}
            """)
        let devices = Dictionary(uniqueKeysWithValues: configuration.devices.map { ($0.key, $0) })
        let watch = try #require(devices["My Watch!"])
        let bytes = try #require(Hex.bytes(Self.irk))
        #expect(watch.match == .identity(try #require(IdentityResolvingKey(bytes))))
        #expect("\(watch.match)" == "identity(key of 16 bytes)")
        #expect(watch.topic(of: "70:81:94:0D:FB:AA") == "private_my_watch")
        let soil = try #require(devices["pot"]?.format)
        #expect(soil.source == .company(0x0499))
        #expect(soil.start == [3] && soil.length == 8 && soil.isBigEndian)
        #expect(soil.fields.map(\.name) == ["leak", "level", "moisture", "temperature"])
        #expect(soil.fields.map(\.coding) == [.bit(7), .bit(6), .unsigned(1), .signed(2)])
        #expect(soil.fields.map(\.unknown) == [[], [], [254, 255], [0x8000]])
        #expect(devices["meter"]?.profiles == [0x180D, 0x180F, 0x180A].map { BluetoothUUID($0) })
        #expect(devices["meter"]?.formats.keys.map(\.characteristic) == [BluetoothUUID(0xFF01)])
    }

    @Test func `an entry for many peripherals has values, and a number of links`() throws {
        let configuration = try read(
            """
            {"id": "kitchen", "devices": {
               "straps": {"service": "heart-rate", "values": ["2a37"], "links": 6},
               "polar": {"namePrefix": "Polar H10 ", "profiles": ["battery"]}}}
            """)
        let devices = Dictionary(uniqueKeysWithValues: configuration.devices.map { ($0.key, $0) })
        #expect(devices["straps"]?.links == 6)
        #expect(devices["straps"]?.hasLink == true)
        #expect(devices["polar"]?.match == .namePrefix("Polar H10 "))
        #expect(devices["polar"]?.links == 4)
    }

    @Test func `the examples of the page are accepted`() throws {
        let page = try Checkout.text("Docs/Gateway.md")
        let examples = page.split(separator: "```json\n").dropFirst().map { String($0.prefix { $0 != "`" }) }
        #expect(examples.count == 4)
        for example in examples {
            #if !DeviceCommands
                if example.contains("messages") { continue }
            #endif
            #expect(try !read(example).devices.isEmpty)
        }
    }

    @Test func `a history has a file, days and a size`() throws {
        let all = try read(
            #"{"id": "a", "devices": {}, "history": {"file": "/var/lib/ble/h.sqlite", "days": 7, "megabytes": 10}}"#)
        #expect(all.history?.file == "/var/lib/ble/h.sqlite")
        #expect(all.history?.days == 7)
        #expect(all.history?.megabytes == 10)
        let some = try read(#"{"id": "a", "devices": {}, "history": {"file": "h.sqlite"}}"#)
        #expect(some.history?.days == 30)
        #expect(some.history?.megabytes == 256)
        #expect(try read(#"{"id": "a", "devices": {}}"#).history == nil)
    }

    private static let irk = "ec0234a357c8ad05341010a60a397d9b"

    /// A file with one format, of the data of company 0499.
    private static func format(_ content: String, device: String = #""company": "0499", "format": "f""#) -> String {
        #"{"id": "a", "formats": {"f": {"company": "0499", \#(content)}}, "devices": {"x": {\#(device)}}}"#
    }

    @Test(arguments: [
        (#""fields": {}"#, "formats.f: a format has fields"),
        (#""length": 8"#, "formats.f.fields: is missing"),
        (#""service": "fcd2", "fields": {}"#, "formats.f.service: a format has the data of a company or of a service"),
        (#""order": "middle", "fields": {}"#, "formats.f.order: not one of: little, big"),
        (#""length": 0, "fields": {}"#, "formats.f.length: not a number from 1 to 512"),
        (#""begins": "0102", "length": 1, "fields": {}"#, "formats.f: begins with more bytes"),
        (#""fields": {"a": {"type": "u8"}}"#, "formats.f.fields.a.at: is missing"),
        (#""fields": {"a": {"at": 0}}"#, "formats.f.fields.a.type: is missing"),
        (#""fields": {"a": {"at": 0, "type": "u9"}}"#, "formats.f.fields.a.type: not one of: u8, u16"),
        (#""fields": {"a": {"at": 0, "type": "u8", "scale": 1}}"#, "formats.f.fields.a.scale: unknown key"),
        (#""fields": {"a": {"at": -1, "type": "u8"}}"#, "formats.f.fields.a.at: not a number from 0 to 511"),
        (#""length": 8, "fields": {"a": {"at": 7, "type": "u16"}}"#, "formats.f.fields.a.at: the field ends after 9"),
        (#""fields": {"a": {"at": 511, "type": "u16"}}"#, "formats.f.fields.a.at: the field ends after 513"),
        (
            #""fields": {"a": {"at": 0, "type": "u16"}, "b": {"at": 1, "type": "u8"}}"#,
            "formats.f.fields.b: overlaps \"a\""
        ),
        (
            #""fields": {"a": {"at": 0, "type": "u8"}, "b": {"at": 0, "type": "bit", "bit": 3}}"#,
            "formats.f.fields.b: overlaps \"a\""
        ),
        (
            #""fields": {"a b": {"at": 0, "type": "u8"}, "A-B": {"at": 1, "type": "u8"}}"#,
            "formats.f.fields.a b: the same name as \"A-B\": a_b"
        ),
        (
            #""fields": {"RSSI": {"at": 0, "type": "u8"}}"#,
            "formats.f.fields.RSSI: the same name as the signal strength"
        ),
        (#""fields": {"温": {"at": 0, "type": "u8"}}"#, "the name has no letter from a to z and no digit"),
        (#""fields": {"a": {"at": 0, "type": "bit"}}"#, "formats.f.fields.a.bit: is missing"),
        (#""fields": {"a": {"at": 0, "type": "bit", "bit": 8}}"#, "formats.f.fields.a.bit: not a number from 0 to 7"),
        (#""fields": {"a": {"at": 0, "type": "bit", "bit": 1, "unit": "%"}}"#, "fields.a.unit: a bit has no unit"),
        (#""fields": {"a": {"at": 0, "type": "u8", "bit": 1}}"#, "fields.a.bit: only a field of the type bit has it"),
        (#""fields": {"a": {"at": 0, "type": "u8", "factor": 0}}"#, "formats.f.fields.a.factor: too small"),
        (#""fields": {"a": {"at": 0, "type": "u8", "unknown": 256}}"#, "fields.a.unknown: not a number from 0 to 255"),
        (
            #""fields": {"a": {"at": 0, "type": "i8", "unknown": [0, -129]}}"#,
            "fields.a.unknown[1]: not a number from -128 to 127"
        ),
        (#""fields": {"a": {"at": 0, "type": "f32", "unknown": 0}}"#, "fields.a.unknown: only an integer"),
    ])
    func `a field that is impossible is refused with its place`(content: String, message: String) {
        expectMistake(Self.format(content), message)
    }

    @Test(arguments: [
        (#""company": "0499", "format": "g""#, "devices.x.format: not one of the formats"),
        (#""company": "0499", "format": "f", "bthomeKey": "\#(irk)""#, "devices.x.bthomeKey: a device with a format"),
        (
            #""address": "C4:7C:8D:00:00:01", "values": ["ff01"], "formats": {"ff01": "f"}"#,
            "devices.x.formats.ff01: the format is of advertised data"
        ),
        (
            #""address": "C4:7C:8D:00:00:01", "values": ["ff01"], "formats": {"ff02": "f"}"#,
            "devices.x.formats.ff02: not one of the values"
        ),
        (#""address": "C4:7C:8D:00:00:01", "formats": {"ff01": "f"}"#, "devices.x.formats.ff01: not one of the values"),
        (#""company": "0499", "links": 2"#, "devices.x.links: only an entry for many peripherals, with values or"),
        (
            #""address": "C4:7C:8D:00:00:01", "values": ["2a19"], "links": 2"#,
            "devices.x.links: only an entry for many peripherals"
        ),
        (#""service": "180d", "values": ["2a19"], "links": 17"#, "devices.x.links: not a number from 1 to 16"),
        (#""irk": "\#(irk)", "values": ["2a19"]"#, "devices.x.values: a device with an irk has no values: pair it"),
        (#""irk": "\#(irk)", "profiles": ["battery"]"#, "devices.x.profiles: a device with an irk has no profiles"),
        (#""irk": "\#(irk)", "company": "0499""#, "devices.x: a device has one of address, irk"),
        (#""irk": "ec0234a357c8ad05341010a60a397d""#, "devices.x.irk: not a key of 32 hexadecimal digits"),
        (#""irk": "7AI0o1fIrQU0EBCmCjl9mw==""#, "devices.x.irk: not a key of 32 hexadecimal digits"),
        (#""address": "C4:7C:8D:00:00:01", "profiles": ["hart-rate"]"#, "devices.x.profiles[0]: \"hart-rate\" is not"),
    ])
    func `a device that is impossible is refused with its place`(device: String, message: String) {
        expectMistake(Self.format(#""fields": {"a": {"at": 0, "type": "u8"}}"#, device: device), message)
    }

    /// A file with two formats of characteristics, f and g, that have fields of these names.
    private static func formats(_ name: String, _ other: String, _ formats: String, values: String) -> String {
        func format(_ name: String) -> String {
            #"{"fields": {"\#(name)": {"at": 0, "type": "u8"}, "\#(name) high": {"at": 1, "type": "u8"}}}"#
        }
        return """
            {"id": "a", "formats": {"f": \(format(name)), "g": \(format(other))}, "devices": {"x": {
             "address": "C4:7C:8D:00:00:01", "values": \(values), "formats": {\(formats)}}}}
            """
    }

    @Test func `two characteristics of a device have no values of the same name`() throws {
        let formats = #""ff01": "f", "ff02": "g""#
        let values = #"["ff01", "ff02"]"#
        expectMistake(
            Self.formats("level", "Level", formats, values: values),
            "devices.x.formats.ff02: has a value of the same name as ff01: level")
        expectMistake(
            Self.formats("level", "depth", #""ff01": "f", "ff02": "f""#, values: values),
            "devices.x.formats.ff02: has a value of the same name as ff01: level")
        #expect(
            try read(Self.formats("level", "depth", formats, values: values)).devices.first?.formats.count == 2)
    }

    @Test(arguments: [
        ("ff01", "ff01", "ff00/ff01", true), ("ff01", "ff00/ff01", "ff01", true),
        ("ff01", "ff00/ff01", "ff00/ff01", true), ("ff00/ff01", "ff01", "ff01", true),
        ("ff00/ff01", "ff01", "ff00/ff01", true), ("ff00/ff01", "ff00/ff01", "ff01", true),
        ("ff00/ff01", "ff00/ff01", "ff0f/ff01", false), ("ff01", "ff00/ff01", "ff0f/ff01", false),
        ("ff01", "ff01", "ff02", false),
    ])
    func `a format is that of a characteristic for the file, values and commands, with and without a service`(
        value: String, format: String, key: String, isOwn: Bool
    ) throws {
        let configuration = try read(
            Self.formats("level", "depth", #""\#(format)": "f""#, values: #"["\#(value)"]"#))
        let device = try #require(configuration.devices.first)
        let fields = device.fields(of: [7, 8], try GatewayFile.value(Entry(.string(key), Entry.Place())))
        #expect(fields.map(\.id) == (isOwn ? ["level", "level_high"] : [fields[0].id]))
        #expect(isOwn || fields[0].value == .text("0708"))
    }

    @Test func `a characteristic has one format`() throws {
        for (one, other) in [("ff01", "ff00/ff01"), ("FF01", "ff01"), ("ff00/FF01", "ff00/ff01")] {
            expectMistake(
                Self.formats("level", "depth", #""\#(one)": "f", "\#(other)": "g""#, values: #"["ff01"]"#),
                ": another one is the same characteristic")
        }
        let values = #"["ff00/ff01", "ff0f/ff01"]"#
        let formats = #""ff00/ff01": "f", "ff0f/ff01": "g""#
        let device = try #require(
            try read(Self.formats("level", "depth", formats, values: values)).devices.first)
        func ids(_ key: CharacteristicKey) -> [String] { device.fields(of: [7, 8], key).map(\.id) }
        let characteristic = BluetoothUUID(0xFF01)
        #expect(
            ids(CharacteristicKey(service: BluetoothUUID(0xFF0F), characteristic: characteristic)) == [
                "depth", "depth_high",
            ])
        // It may be that of either service.
        #expect(ids(CharacteristicKey(characteristic: characteristic)).count == 1)
        expectMistake(
            Self.formats("level", "depth", #""ff0e/ff01": "f""#, values: #"["ff00/ff01"]"#), "not one of the values")
    }

    @Test func `a format of characteristics is not one of advertised data`() {
        expectMistake(
            #"{"id": "a", "formats": {"f": {"fields": {"a": {"at": 0, "type": "u8"}}}}, "devices": {"x": {"company": "0499", "format": "f"}}}"#,
            "devices.x.format: the format is of no company's or service's data")
        expectMistake(
            #"{"id": "a", "formats": {"soil": {"fields": {"a": {"at": 0, "type": "u8"}}}}, "devices": {"x": {"company": "0499", "format": "soils"}}}"#,
            #"devices.x.format: not one of the formats; did you mean "soil"?"#)
    }

    @Test(arguments: [
        (#""watch": {"irk": "\#(irk)"}, "Watch ": {"irk": "\#(irk)"}"#, "the same topics as"),
        (
            #""watch": {"irk": "\#(irk)"}, "phone": {"irk": "\#(irk)"}"#,
            "devices.watch: the same peripherals as \"phone\""
        ),
        (#""時計": {"irk": "\#(irk)"}"#, "a name with a letter from a to z or a digit is needed"),
    ])
    func `devices with private addresses have different topics and keys`(devices: String, message: String) {
        expectMistake(#"{"id": "a", "devices": {\#(devices)}}"#, message)
    }

    private func expectMistake(_ text: String, _ message: String) {
        do {
            _ = try read(text)
            Issue.record("accepted")
        } catch {
            #expect("\(error)".contains(message), "\(error)")
        }
    }

    @Test(arguments: [
        (#"{"devices": {}}"#, "id: is missing"),
        (#"{"id": "a"}"#, "devices: is missing"),
        (#"{"id": "a/b", "devices": {}}"#, "id: not a part of a topic"),
        (#"{"id": "a", "prefix": "ble/#", "devices": {}}"#, "prefix: not the beginning of a topic"),
        (#"{"id": "a", "devices": {}, "brokers": {}}"#, "brokers: unknown key; did you mean \"broker\"?"),
        (
            #"{"id": "a", "devices": {"x": {"address": "C4:7C:8D:00:00:01", "hue": 1}}}"#,
            "devices.x.hue: unknown key"
        ),
        (#"{"id": "a", "devices": {"x": {"name": "X"}}}"#, "devices.x: a device has one of"),
        (#"{"id": "a", "devices": {"x": {"company": "0499", "service": "fcd2"}}}"#, "devices.x: a device has one of"),
        (#"{"id": "a", "devices": {"x": {"address": "C4:7C"}}}"#, "devices.x.address: not an address"),
        (
            #"{"id": "a", "devices": {"x": {"company": "0499", "messages": {}}}}"#,
            "devices.x.messages: only a device with an address"
        ),
        (
            #"{"id": "a", "devices": {"x": {"company": "0499"}, "y": {"company": "0499"}}}"#,
            "devices.y: the same peripherals as \"x\""
        ),
        (#"{"id": "a", "devices": {"x": {"company": "0499"}, "x": {"company": "0059"}}}"#, "x"),
        (#"{"id": "a", "devices": {}, "broker": {"password": "p"}}"#, "broker.password: a password needs a user"),
        (#"{"id": "a", "devices": {}, "broker": {"port": 0}}"#, "broker.port: not a number"),
        (#"{"id": "a", "devices": {}, "history": {}}"#, "history.file: is missing"),
        (#"{"id": "a", "devices": {}, "history": "h.sqlite"}"#, "history: not an object"),
        (#"{"id": "a", "devices": {}, "history": {"file": ""}}"#, "history.file: not a text of 1 to 200 bytes"),
        (
            #"{"id": "a", "devices": {}, "history": {"file": "h", "day": 1}}"#,
            "history.day: unknown key; did you mean \"days\"?"
        ),
        (#"{"id": "a", "devices": {}, "history": {"file": "h", "days": 0}}"#, "history.days: not a number from 1 to"),
        (
            #"{"id": "a", "devices": {}, "history": {"file": "h", "megabytes": 1000001}}"#,
            "history.megabytes: not a number from 1 to 1000000"
        ),
    ])
    func `a mistake is refused with its place`(text: String, message: String) { expectMistake(text, message) }
}
