import BLE
import BLEAssignedNumbers
import BLEBTHome
import BLESimulation
import Foundation
import Testing

@testable import BLECommand

/// What a gateway publishes of peripherals that send anything.
struct HostilePeripheralTests {
    private let id = Peripheral.ID(rawValue: "C4:7C:8D:00:00:01")
    private let entry = ListedDevice(key: "tags", match: .company(1))
    private var table = DeviceTable(GatewayTopics(GatewayConfiguration(id: "kitchen")))
    private var random = SeededGenerator(seed: 33)

    private static let topics: Set<String> = [
        "homeassistant/device/ble_c47c8d000001/config", "ble/device/c47c8d000001/state",
        "ble/device/c47c8d000001/availability", "ble/device/c47c8d000001/origin",
        "ble/gateway/kitchen/device/c47c8d000001",
    ]
    /// Texts that mean something to a page, a template, a terminal, a topic or JSON.
    private static let texts = [
        "<script>alert(\"1\")</script>", "{{ 1/0 }}", "a'] | map('", "\u{202E}\u{2066}x\u{0}\u{7}\u{1B}[2J",
        "\\\"},\"b\":{",
        "+/#/$SYS", String(repeating: "\u{1F468}\u{200D}", count: 100), "\r\n\u{2028}\u{85}", "NaN", "Infinity", "None",
    ]

    /// Checks messages, with a reader of JSON that is not the gateway's.
    private func check(_ messages: [GatewayMessage]) throws {
        for message in messages {
            #expect(
                Self.topics.contains(message.topic)
                    || message.topic.wholeMatch(of: /ble\/device\/c47c8d000001\/event\/(button|dimmer|command)(_\d+)?/)
                        != nil,
                "\(message.topic)")
            // Nothing that could move a cursor or end a line.
            #expect(message.payload == message.payload.harmless)
            #expect(message.payload.utf8.count < 100_000)
            guard message.payload.first == "{" else {
                #expect(["online", "offline", "tags"].contains(message.payload))
                continue
            }
            let object = try JSONSerialization.jsonObject(with: Data(message.payload.utf8)) as? [String: Any]
            let keys = try #require(object).keys
            if message.topic.hasSuffix("/state") {
                #expect(keys.count <= DeviceTable.maximumFields + 1)
                #expect(keys.allSatisfy { $0.wholeMatch(of: /[a-z0-9_]+/) != nil }, "\(keys)")
            } else if message.topic.hasSuffix("/config") {
                let components = try #require(object?["cmps"] as? [String: [String: Any]])
                // A template with the text of a peripheral would run in Home Assistant.
                for (name, component) in components where name != "rssi" && component["p"] as? String != "event" {
                    #expect(name.wholeMatch(of: /[a-z0-9_]+/) != nil)
                    let template = try #require(component["val_tpl"] as? String)
                    #expect(template.contains("value_json['\(name)']"))
                    #expect(component["uniq_id"] as? String == "ble_c47c8d000001_\(name)")
                }
            }
        }
    }

    private mutating func bytes(_ count: ClosedRange<Int>) -> [UInt8] {
        (0..<Int.random(in: count, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
    }

    @Test mutating func `advertisements with any names and data become valid messages`() throws {
        for second in 0..<3000 {
            let kind = try #require(BTHomeKind.all.randomElement(using: &random)).id
            // A report that begins like one with an object of that kind.
            let report = [0x40, kind] + bytes(0...30)
            let text = try #require(Self.texts.randomElement(using: &random))
            var advertisement = Advertisement(
                localName: text, rssi: Int(Int8.random(in: -128...127, using: &random)),
                manufacturerData: [0x0499: [5] + bytes(0...24), 1: bytes(0...10)],
                serviceData: [BluetoothUUID(0xFCD2): report, BluetoothUUID(0xFEAA): [0x20] + bytes(0...14)])
            if second % 3 == 0 {
                let beginning = String(decoding: text.utf8.prefix(20), as: UTF8.self)
                let object = try BTHomeObject(try #require(BTHomeKind(id: 0x53)), .text(beginning))
                advertisement.serviceData = [:]
                try BTHome([object]).encode(into: &advertisement)
            }
            try check(table.hear(id, entry, advertisement, at: .seconds(second)))
            try check(table.pass(to: .seconds(second)))
        }
        try check(table.everything(at: .seconds(4000)))
        #expect(table.count == 1)
    }

    @Test mutating func `values of characteristics with any bytes become valid messages, of 64 fields at most`() throws
    {
        let keys = AssignedNumbers.all(.characteristic).compactMap(\.uuid).map { CharacteristicKey(characteristic: $0) }
        for second in 0..<5000 {
            let key = try #require(keys.randomElement(using: &random))
            var value = bytes(0...40)
            if second % 5 == 0 {
                // The special numbers of both kinds of floating-point numbers, and text.
                value = second % 2 == 0 ? [0, 0xFF, 0x07, 0, 0xFE, 0x07] : Array(Self.texts[second % 11].utf8)
            }
            try check(table.take(SensorReading.fields(of: value, key), from: id, entry, at: .seconds(second)))
            try check(table.pass(to: .seconds(second)))
        }
        let state = try #require(table.everything(at: .seconds(6000)).last { $0.topic.hasSuffix("/state") })
        let object = try JSONSerialization.jsonObject(with: Data(state.payload.utf8)) as? [String: Any]
        #expect(object?.count == DeviceTable.maximumFields + 1)
    }
}
