import BLE
import BLEBTHome
import Testing

@testable import BLECommand

struct DeviceTableTests {
    private let id = Peripheral.ID(rawValue: "C4:7C:8D:00:00:01")
    private let entry = ListedDevice(key: "freezer", name: "Freezer", match: .company(1))
    private var table = DeviceTable(GatewayTopics(GatewayConfiguration(id: "kitchen")))

    private static let state = "ble/device/c47c8d000001/state"
    private static let availability = "ble/device/c47c8d000001/availability"
    private static let discovery = "homeassistant/device/ble_c47c8d000001/config"
    private static let own = "ble/gateway/kitchen/device/c47c8d000001"
    private static let origin = "ble/device/c47c8d000001/origin"

    private func report(_ objects: BTHomeObject..., rssi: Int = -60) throws -> Advertisement {
        var advertisement = Advertisement(rssi: rssi)
        try BTHome(objects).encode(into: &advertisement)
        return advertisement
    }

    private func temperature(_ value: Double) throws -> BTHomeObject {
        try BTHomeObject(try #require(BTHomeKind(id: 2)), value: value)
    }

    private mutating func hear(_ advertisement: Advertisement, at seconds: Double) -> [GatewayMessage] {
        table.hear(id, entry, advertisement, at: .seconds(seconds))
    }

    @Test mutating func `a new device is announced, available, and has its values`() throws {
        let messages = hear(try report(try temperature(-18.5)), at: 0)
        #expect(messages.map(\.topic) == [Self.origin, Self.own, Self.discovery, Self.availability, Self.state])
        #expect(messages[3].payload == "online")
        #expect(messages[4].payload == #"{"rssi":-60,"temperature":-18.5}"#)
        #expect(messages.allSatisfy { $0.isRetained })
        #expect(messages[4].expiry == .seconds(300))
    }

    @Test mutating func `a change is published at most once a second`() throws {
        _ = hear(try report(try temperature(-18.5)), at: 0)
        #expect(hear(try report(try temperature(-18.4)), at: 0.5) == [])
        #expect(hear(try report(try temperature(-18.3)), at: 0.9) == [])
        let later = table.pass(to: .seconds(1))
        #expect(later.map(\.payload) == [#"{"rssi":-60,"temperature":-18.3}"#])
        #expect(table.pass(to: .seconds(3)) == [])
    }

    @Test mutating func `another signal strength alone is published once a minute`() throws {
        _ = hear(try report(try temperature(4)), at: 0)
        #expect(hear(try report(try temperature(4), rssi: -70), at: 59) == [])
        #expect(
            hear(try report(try temperature(4), rssi: -71), at: 60).map(\.payload) == [#"{"rssi":-71,"temperature":4}"#]
        )
    }

    @Test mutating func `a further value is announced`() throws {
        _ = hear(try report(try temperature(4)), at: 0)
        let battery = try BTHomeObject(try #require(BTHomeKind(id: 1)), value: 90)
        let messages = hear(try report(battery, try temperature(4)), at: 5)
        #expect(messages.map(\.topic) == [Self.discovery, Self.state])
        #expect(messages[0].payload.contains(#""dev_cla":"battery""#))
        #expect(messages[1].payload == #"{"battery":90,"rssi":-60,"temperature":4}"#)
    }

    @Test mutating func `a silent device becomes unavailable, once, until it is heard again`() throws {
        _ = hear(try report(try temperature(4)), at: 0)
        #expect(table.pass(to: .seconds(299)).map(\.topic) == [Self.state])
        #expect(table.pass(to: .seconds(300)).map(\.payload) == ["offline"])
        #expect(table.pass(to: .seconds(1000)) == [])
        #expect(hear(try report(try temperature(4)), at: 1001).map(\.topic) == [Self.availability, Self.state])
    }

    @Test mutating func `a device with a link is available though it is silent`() throws {
        _ = table.setConnected(true, id, entry, at: .zero)
        #expect(table.pass(to: .seconds(3600)).map(\.topic) == [Self.state])
        _ = table.setConnected(false, id, entry, at: .seconds(4000))
        #expect(table.pass(to: .seconds(4299)).allSatisfy { $0.topic == Self.state })
        #expect(table.pass(to: .seconds(4300)).map(\.payload) == ["offline"])
    }

    @Test mutating func `the end of a link does not make a device of a peripheral that was never there`() {
        #expect(table.setConnected(false, id, entry, at: .zero) == [])
        #expect(table.count == 0)
    }

    @Test mutating func `everything has no values of an unavailable device`() throws {
        _ = hear(try report(try temperature(4)), at: 0)
        #expect(
            table.everything(at: .seconds(10)).map(\.topic) == [
                Self.origin, Self.own, Self.discovery, Self.availability, Self.state,
            ])
        _ = table.pass(to: .seconds(400))
        let later = table.everything(at: .seconds(400)).map(\.topic)
        #expect(later == [Self.origin, Self.own, Self.discovery, Self.availability])
    }

    @Test mutating func `an announcement is what Home Assistant expects`() throws {
        let door = try BTHomeObject(try #require(BTHomeKind(id: 0x1A)), .flag(true))
        let messages = hear(try report(try temperature(4), door), at: 0)
        let announcement = try #require(messages.first { $0.topic == Self.discovery }).payload
        #expect(announcement.contains(#""dev":{"ids":"ble_c47c8d000001","name":"Freezer"}"#))
        #expect(announcement.contains(#""avty":[{"t":"ble/gateway/kitchen/state"},{"t":"\#(Self.availability)"}]"#))
        #expect(
            announcement.contains(
                #""temperature":{"default_entity_id":"sensor.ble_c47c8d000001_temperature","dev_cla":"temperature","name":"temperature","p":"sensor","stat_cla":"measurement","uniq_id":"ble_c47c8d000001_temperature","unit_of_meas":"°C","val_tpl":"{{ value_json['temperature'] | default(none) }}"}"#
            ))
        #expect(announcement.contains(#""p":"binary_sensor","pl_off":"False","pl_on":"True""#))
    }

    @Test mutating func `a name that changes all the time is announced once a minute`() throws {
        let entry = ListedDevice(key: "freezer", match: .company(1))
        let announcements = (0..<120).reduce(into: 0) { count, second in
            let messages = table.hear(
                id, entry, Advertisement(localName: "\(second)"), at: .seconds(second))
            count += messages.count { $0.topic == Self.discovery }
        }
        #expect(announcements == 2)
    }

    @Test mutating func `attempts to connect that fail do not keep a device available`() throws {
        _ = table.setConnected(true, id, entry, at: .zero)
        _ = table.setConnected(false, id, entry, at: .seconds(10))
        var offline: [Int] = []
        for second in stride(from: 20, through: 400, by: 10) {
            #expect(table.setConnected(false, id, entry, at: .seconds(second)) == [])
            if table.pass(to: .seconds(second)).contains(where: { $0.payload == "offline" }) { offline.append(second) }
        }
        #expect(offline == [310])
    }

    @Test mutating func `a value of another unit or kind has a name of its own`() throws {
        let kind = { try BTHomeObject(try #require(BTHomeKind(id: $0)), value: 2) }
        _ = hear(try report(try kind(6)), at: 0)
        let messages = hear(try report(try kind(7)), at: 5)
        #expect(messages.last?.payload == #"{"mass":2,"mass_lb":2,"rssi":-60}"#)
        #expect(hear(try report(try kind(6)), at: 10) == [])
    }

    @Test mutating func `an entry without an address has at most 64 devices`() throws {
        for number in 0..<200 {
            let id = Peripheral.ID(rawValue: "C4:7C:8D:00:01:\(number / 16 % 16)\(number % 10)-\(number)")
            _ = table.hear(id, entry, Advertisement(), at: .zero)
        }
        #expect(table.count == 64)
    }
}
