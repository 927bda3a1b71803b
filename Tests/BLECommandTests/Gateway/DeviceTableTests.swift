import BLE
import BLEBTHome
import BLEBeacons
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

    @Test mutating func `Home Assistant gets the beginning of a text that is longer than it accepts`() throws {
        let text = try BTHomeObject(try #require(BTHomeKind(id: 0x53)), .text("a"))
        let announcement = try #require(hear(try report(text), at: 0).first { $0.topic == Self.discovery }).payload
        #expect(
            announcement.contains(
                #""val_tpl":"{{ value_json['text'][:255] if value_json['text'] is string else none }}""#))
    }

    @Test mutating func `values that come one after the other are announced at once, five seconds after the last time`()
        throws
    {
        _ = hear(try report(), at: 0)
        for (second, id) in [UInt8(1), 2, 3, 4].enumerated() {
            let object = try BTHomeObject(try #require(BTHomeKind(id: id)), value: 4)
            #expect(!hear(try report(object), at: Double(second) + 1).contains { $0.topic == Self.discovery })
            #expect(table.isWaiting)
        }
        #expect(!table.pass(to: .seconds(4.9)).contains { $0.topic == Self.discovery })
        let messages = table.pass(to: .seconds(5)).filter { $0.topic == Self.discovery }
        #expect(messages.count == 1)
        for name in ["battery", "temperature", "humidity", "pressure"] {
            #expect(messages.first?.payload.contains("\"\(name)\":{") == true)
        }
        _ = table.pass(to: .seconds(6))
        #expect(!table.isWaiting)
        #expect(!table.pass(to: .seconds(100)).contains { $0.topic == Self.discovery })
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

    @Test mutating func `a device whose link came first has the name that it advertised right afterwards`() throws {
        let entry = ListedDevice(key: "strap", match: .address(id))
        let first = table.setConnected(true, id, entry, at: .zero)
        #expect(first.contains { $0.topic == Self.discovery && $0.payload.contains(id.rawValue) })
        #expect(table.isUnnamed("c47c8d000001"))
        let heard = table.hear(id, entry, Advertisement(localName: "Polar H10"), at: .seconds(0.1))
        // Home Assistant ignores an announcement that comes too soon.
        #expect(!heard.contains { $0.topic == Self.discovery })
        let later = table.pass(to: .seconds(5))
        #expect(later.contains { $0.topic == Self.discovery && $0.payload.contains("Polar H10") })
        #expect(!table.isUnnamed("c47c8d000001"))
        // Another name waits until a minute after the announcement, also if it is not advertised again.
        _ = table.hear(id, entry, Advertisement(localName: "Strap"), at: .seconds(7))
        #expect(!table.pass(to: .seconds(64)).contains { $0.topic == Self.discovery })
        #expect(table.pass(to: .seconds(65)).contains { $0.topic == Self.discovery && $0.payload.contains("Strap") })
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
        #expect(table.notes(at: .seconds(1)).count { $0.hasPrefix("freezer: has 64 peripherals") } == 1)
        _ = hear(Advertisement(), at: 2)
        #expect(table.notes(at: .seconds(3)) == [])
    }

    @Test mutating func `of an entry without a place, the device that is silent for longest makes room`() throws {
        for number in 0..<64 {
            let id = Peripheral.ID(rawValue: "C4:7C:8D:00:01:\(number + 10)")
            _ = table.hear(id, entry, Advertisement(), at: .seconds(number))
        }
        #expect(hear(Advertisement(), at: 63) == [])
        _ = table.pass(to: .seconds(310))
        let messages = hear(Advertisement(), at: 311)
        let removed = messages.filter { $0.topic.contains("c47c8d000110") }
        #expect(removed.count == 5 && removed.allSatisfy { $0.payload.isEmpty })
        #expect(messages.first { $0.topic == Self.availability }?.payload == "online")
        #expect(table.count == 64)
        #expect(table.entry(of: "C4:7C:8D:00:01:10") == nil)
        #expect(table.entry(of: id)?.key == "freezer")
    }

    // MARK: Private addresses

    @Test mutating func `a device with private addresses keeps its topics, and its address is not published`() throws {
        let key = try #require(IdentityResolvingKey([UInt8](repeating: 1, count: 16)))
        let watch = ListedDevice(key: "My watch", match: .identity(key))
        let first: Peripheral.ID = "40:00:00:00:00:01"
        let second: Peripheral.ID = "41:00:00:00:00:02"
        let messages = table.hear(first, watch, try report(try temperature(4)), at: .zero)
        #expect(messages.map(\.topic).first == "ble/device/private_my_watch/origin")
        #expect(messages.first?.payload == #"{"entry":"My watch","gateway":"kitchen"}"#)
        #expect(messages.contains { $0.payload.contains(#""ids":"ble_private_my_watch","name":"My watch""#) })
        let later = table.hear(second, watch, try report(try temperature(5)), at: .seconds(5))
        #expect(later.map(\.topic) == ["ble/device/private_my_watch/state"])
        #expect(table.count == 1)
        #expect(table.peripheral("private_my_watch") == second)
        for message in messages + later + table.everything(at: .seconds(6)) {
            let digits = (message.topic + " " + message.payload).lowercased().filter { $0.isLetter || $0.isNumber }
            #expect(!digits.contains("400000000001") && !digits.contains("410000000002"), "\(message)")
        }
    }

    // MARK: Events

    private func press(_ button: BTHomeButton, packet: Int64?) throws -> Advertisement {
        let object = try BTHomeObject(try #require(BTHomeKind(id: 0x3A)), .button(button))
        guard let packet else { return try report(object) }
        return try report(try BTHomeObject(try #require(BTHomeKind(id: 0)), .number(packet)), object)
    }

    /// The messages that are events.
    private mutating func events(_ advertisement: Advertisement, at seconds: Double) -> [GatewayMessage] {
        hear(advertisement, at: seconds).filter { $0.topic.contains("/event/") }
    }

    @Test mutating func `a press is published once, not retained, and is gone soon`() throws {
        let messages = hear(try press(.doublePress, packet: 7), at: 0)
        #expect(
            messages.map(\.topic) == [
                Self.origin, Self.own, Self.discovery, Self.availability, Self.state,
                "ble/device/c47c8d000001/event/button",
            ])
        let event = try #require(messages.last)
        #expect(event.payload == #"{"event_type":"double_press"}"#)
        #expect(!event.isRetained)
        #expect(event.expiry == .seconds(10))
        for tenth in 1...50 { #expect(events(try press(.doublePress, packet: 7), at: Double(tenth) / 10) == []) }
        #expect(events(try press(.doublePress, packet: 8), at: 6).count == 1)
    }

    @Test mutating func `a part without an event is announced, and has no event`() throws {
        let dimmer = try BTHomeObject(try #require(BTHomeKind(id: 0x3C)), .dimmer(.rotateLeft, steps: 3))
        let second = try BTHomeObject(try #require(BTHomeKind(id: 0x3A)), .button(.longPress))
        let first = try BTHomeObject(try #require(BTHomeKind(id: 0x3A)), .button(.none))
        let command = try BTHomeObject(try #require(BTHomeKind(id: 0x3B)), .command(.stepUp, arguments: [1, 2]))
        let messages = hear(try report(first, second, command, dimmer), at: 0)
        let events = messages.filter { $0.topic.contains("/event/") }
        #expect(
            events.map { "\($0.topic.split(separator: "/").last ?? "") \($0.payload)" } == [
                #"button_2 {"event_type":"long_press"}"#,
                #"command {"arguments":"0102","event_type":"step_up"}"#,
                #"dimmer {"event_type":"rotate_left","steps":3}"#,
            ])
        let announcement = try #require(messages.first { $0.topic == Self.discovery }).payload
        #expect(
            announcement.contains(
                #""event-button_2":{"default_entity_id":"event.ble_c47c8d000001_button_2","dev_cla":"button","evt_typ":["press","double_press","triple_press","long_press","long_double_press","long_triple_press","hold_press","hold_release"],"name":"button 2","p":"event","stat_t":"ble/device/c47c8d000001/event/button_2","uniq_id":"ble_c47c8d000001_event-button_2"}"#
            ))
        #expect(announcement.contains(#""event-button":{"#))
        #expect(announcement.contains(#""evt_typ":["rotate_left","rotate_right"]"#))
        #expect(announcement.contains(#""evt_typ":["off","on","toggle","step_up","step_down"]"#))
        // Everything has no events: they are no state.
        #expect(table.everything(at: .seconds(1)).allSatisfy { !$0.topic.contains("/event/") })
    }

    @Test mutating func `the hold of a button as Shelly sends it is an event, and an unknown event is none`() throws {
        let data = { Advertisement(rssi: -60, serviceData: [BluetoothUUID(0xFCD2): [0x40, 0x3A, $0, 0x45, 0xD5, 0]]) }
        #expect(events(data(0xFE), at: 0).map(\.payload) == [#"{"event_type":"hold_press"}"#])
        #expect(events(data(0x7F), at: 1) == [])
        #expect(table.everything(at: .seconds(1)).last?.payload == #"{"rssi":-60,"temperature":21.3}"#)
    }

    @Test mutating func `an event that the system only remembers is not published`() throws {
        var remembered = try press(.press, packet: 7)
        remembered.rssi = nil
        #expect(events(remembered, at: 0) == [])
        #expect(events(try press(.press, packet: 7), at: 1) == [])
        #expect(events(try press(.press, packet: 8), at: 2).count == 1)
    }

    @Test mutating func `a device has at most 20 events in a second`() throws {
        let counts = try (0..<3).map { second in
            try (0..<100).count { number in
                !events(try press(.press, packet: Int64(number)), at: Double(second) + Double(number) / 200).isEmpty
            }
        }
        #expect(counts == [20, 20, 20])
    }

    #if BTHomeEncryption
        private static let key = [UInt8](repeating: 9, count: 16)
        private let lock = ListedDevice(key: "door", match: .company(2), bthomeKey: key)

        /// Takes an encrypted report with a door and a button.
        private mutating func hearSealed(
            _ isOpen: Bool, counter: UInt32, at seconds: Double
        ) throws -> [GatewayMessage] {
            let objects = [
                try BTHomeObject(try #require(BTHomeKind(id: 0x1A)), .flag(isOpen)),
                try BTHomeObject(try #require(BTHomeKind(id: 0x3A)), .button(.press)),
            ]
            let sealed = try BTHome(objects).sealed(
                key: try #require(BTHomeKey(Self.key)), address: [0xC4, 0x7C, 0x8D, 0, 0, 1], counter: counter)
            var advertisement = Advertisement(rssi: -60)
            try sealed.encode(into: &advertisement)
            return table.hear(id, lock, advertisement, at: .seconds(seconds))
        }

        @Test mutating func `a report that is sent again is ignored, and counted in a note an hour`() throws {
            #expect(try hearSealed(false, counter: 1000, at: 0).contains { $0.payload.contains(#""door":false"#) })
            #expect(try hearSealed(true, counter: 1001, at: 2).map(\.topic).last?.hasSuffix("/event/button") == true)
            #expect(try hearSealed(true, counter: 1001, at: 3) == [])
            for second in 4..<300 { #expect(try hearSealed(false, counter: 1000, at: Double(second)) == []) }
            // Not even the availability depends on it.
            #expect(table.pass(to: .seconds(303)).map(\.payload) == ["offline"])
            #expect(table.notes(at: .seconds(303)).map { $0.contains("door: ignored 240 old reports") } == [true])
            #expect(try hearSealed(false, counter: 900, at: 400) == [])
            #expect(table.notes(at: .seconds(3902)) == [])
            #expect(table.notes(at: .seconds(3903)).map { $0.contains("ignored 1 old report,") } == [true])
            #expect(table.notes(at: .seconds(9000)) == [])
            // The device has restarted.
            #expect(try !hearSealed(false, counter: 0, at: 9000).isEmpty)
            #expect(table.notes(at: .seconds(9000)).map { $0.hasPrefix("door: counts its reports from the") } == [true])
        }

        /// Advertisements that any device can send with the address of one with a key.
        private func forgeries() throws -> [Advertisement] {
            let door = try report(try BTHomeObject(try #require(BTHomeKind(id: 0x1A)), .flag(true)))
            let wrongKey = try BTHome([try temperature(1)]).sealed(
                key: try #require(BTHomeKey([UInt8](repeating: 8, count: 16))), address: [0xC4, 0x7C, 0x8D, 0, 0, 1],
                counter: 5000)
            var sealed = Advertisement(localName: "Forged", rssi: -60)
            try wrongKey.encode(into: &sealed)
            var tag = Advertisement(rssi: -60)
            try RuuviTag(temperatureCelsius: 24.3).encode(into: &tag)
            var beacon = Advertisement(rssi: -60)
            try Eddystone.telemetry(
                EddystoneTelemetry(temperatureCelsius: 24, advertisementCount: 1, uptimeDeciseconds: 1)
            ).encode(into: &beacon)
            return [door, sealed, tag, beacon, Advertisement(localName: "Forged", rssi: -60)]
        }

        @Test mutating func `what the key of a device does not authenticate has no effect`() throws {
            for forgery in try forgeries() { #expect(table.hear(id, lock, forgery, at: .zero) == []) }
            #expect(table.count == 0)
            #expect(try hearSealed(false, counter: 1000, at: 0).contains { $0.payload.contains(#""door":false"#) })
            for second in 60..<300 {
                for forgery in try forgeries() {
                    #expect(table.hear(id, lock, forgery, at: .seconds(second)) == [])
                }
            }
            let state = try #require(table.everything(at: .seconds(299)).last)
            #expect(state.payload == #"{"door":false,"rssi":-60}"#)
            // Neither the name nor the availability depends on it.
            #expect(table.everything(at: .seconds(299)).allSatisfy { !$0.payload.contains("Forged") })
            #expect(table.pass(to: .seconds(300)).map(\.payload) == ["offline"])
        }

        @Test mutating func `a gateway of a fleet does not hear a device by what its key does not authenticate`() throws
        {
            table = DeviceTable(GatewayTopics(GatewayConfiguration(id: "kitchen")), isFleet: true)
            _ = table.setConnected(true, at: .zero)
            for forgery in try forgeries() { #expect(table.hear(id, lock, forgery, at: .seconds(10)) == []) }
            #expect(table.pass(to: .seconds(20)) == [])
            #expect(try hearSealed(false, counter: 1, at: 30).contains { $0.topic.contains("/seen/") })
        }
    #endif
}
