import BLE
import BLESimulation
import BLETestSupport
import BlueZTestSupport
import Foundation
import Testing

/// How `read`, `notify` and `inspect` show values.
@Suite(.startsProcesses, .hangLimit)
struct ValueCommandTests {
    private static let celsius = PresentationFormat(format: .sint16, exponent: -1, unit: BluetoothUUID(0x272F))

    /// A sensor with values that the SIG describes, that the sensor describes itself, and that have no description.
    private static let sensor = PeripheralDefinition(
        advertisement: Advertisement(localName: "Sensor", rssi: -40),
        services: [
            ServiceDefinition(
                BluetoothUUID(0x181A),
                characteristics: [
                    CharacteristicDefinition(BluetoothUUID(0x2A6E), .read, value: [0x59, 0x08]),
                    CharacteristicDefinition(BluetoothUUID(0x2A6F), .read, value: [0x94]),
                    CharacteristicDefinition(
                        BluetoothUUID(0x2A6D), .read, onRead: { (_) throws(ATTError) in throw .readNotPermitted }),
                    CharacteristicDefinition(
                        BluetoothUUID(0x2A37), .notify,
                        onSubscribe: { await $0.notify([0x10, 72, 0x00, 0x04, 0x80, 0x03]) }),
                    CharacteristicDefinition(BluetoothUUID(0x2BED), .read, value: [0x02, 0x00, 0x00, 80]),
                ]),
            ServiceDefinition(
                BluetoothUUID(0xFF00),
                characteristics: [
                    CharacteristicDefinition(
                        BluetoothUUID(0xFF01), [.read, .notify], value: [0xD6, 0x00],
                        descriptors: [DescriptorDefinition(BluetoothUUID(0x2904), value: celsius.bytes)],
                        onSubscribe: { await $0.notify([0xD7, 0x00]) }),
                    CharacteristicDefinition(BluetoothUUID(0xFF02), .read, value: Array("21.5".utf8)),
                    CharacteristicDefinition(BluetoothUUID(0xFF03), .read, value: [0xFF, 0x00]),
                ]),
        ])

    private func world() async throws -> BlueZWorld {
        let world = try await BlueZWorld()
        _ = await world.radio.add(Self.sensor)
        return world
    }

    @Test(
        arguments: [
            ("temperature", "5908  21.37 °C\n"),
            (
                "battery-level-status",
                "02000050  Power State: Wired External Power Source Connected: No, Wireless External "
                    + "Power Source Connected: No, Battery Charge State: Unknown, Battery Charge Level: Unknown, Charging Type: "
                    + "Unknown or Not Charging; Battery Level: 80 %\n"
            ),
            ("ff01", "d600  21.4 °C\n"),
            ("ff02", "32312e35\n"),
        ])
    func `a value is shown as the SIG or the peripheral describes it`(_ characteristic: String, _ output: String)
        async throws
    {
        let world = try await world()
        #expect(try await world.ble("read", "Sensor", characteristic).run().output == output)
    }

    @Test func `a value that is not as described is shown in bytes, and why`() async throws {
        let world = try await world()
        let text = try await world.ble("read", "Sensor", "humidity", "--guess").run()
        #expect(text.status == 0)
        #expect(text.output.hasPrefix("94  (Humidity is truncated"))
        let object = try #require(try await world.ble("read", "Sensor", "humidity", "--json").run().objects.first)
        #expect(object["value"] as? String == "94")
        #expect(object["decoded"] is NSNull)
        #expect(object["fields"] is NSNull)
        #expect((object["error"] as? String)?.hasPrefix("Humidity is truncated") == true)
    }

    @Test func `a value that is not the expected one is a record`() async throws {
        let world = try await world()
        let other = try await world.ble("expect", "Sensor", "temperature", "21.38 °C", "--json").run()
        #expect(other.status == 1)
        let record = try #require(try other.objects.first)
        #expect(record["isMet"] as? Bool == false)
        #expect(record["decoded"] as? String == "21.37 °C")
        #expect(record["expected"] as? String == "21.38 °C")
        #expect(record["value"] as? String == "5908")
        let text = try await world.ble("expect", "Sensor", "temperature", "21.38 °C").run()
        #expect(text.output == "")
        let met = try await world.ble("expect", "Sensor", "temperature", "21.37 °C", "--json").run()
        #expect(try met.objects.map { $0["isMet"] as? Bool } == [true])
        // It can only be subscribed to, and sends another value.
        let silent = try await world.ble(
            "expect", "Sensor", "heart-rate-measurement", "heart-rate=73", "--within", "0.5", "--json"
        ).run()
        #expect(silent.status == 1, "\(silent.errors)")
        #expect(try silent.objects.map { $0["isMet"] as? Bool } == [false])
    }

    @Test func `a value that does not notify is read, also within a time`() async throws {
        let world = try await world()
        #expect(try await world.ble("expect", "Sensor", "temperature", "21.37 °C", "--within", "60").run().status == 0)
        let other = try await world.ble("expect", "Sensor", "temperature", "21.38 °C", "--within", "60").run()
        #expect(other.status == 17, "\(other.errors)")
    }

    @Test func `a guess is asked for, and marked`() async throws {
        let world = try await world()
        #expect(
            try await world.ble("read", "Sensor", "ff02", "--guess").run().output == "32312e35  guess: float 21.5\n")
        #expect(try await world.ble("read", "Sensor", "ff03", "--guess").run().output == "ff00  guess: raw\n")
        #expect(try await world.ble("read", "Sensor", "temperature", "--guess").run().output == "5908  21.37 °C\n")
        let guess = try #require(try await world.ble("read", "Sensor", "ff02", "--guess", "--json").run().objects.first)
        #expect(guess["guess"] as? String == "float")
        #expect(guess["decoded"] as? String == "21.5")
        let plain = try #require(try await world.ble("read", "Sensor", "ff02", "--json").run().objects.first)
        #expect(Set(plain.keys) == ["id", "uuid", "descriptor", "value", "decoded", "fields", "guess", "error"])
        #expect(plain["decoded"] is NSNull)
        #expect(plain["guess"] is NSNull)
    }

    @Test func `notifications have their fields`() async throws {
        let world = try await world()
        let object = try #require(
            try await world.ble("notify", "Sensor", "heart-rate-measurement", "--count", "1", "--json").run().objects
                .first)
        #expect(Set(object.keys) == ["id", "uuid", "value", "dropped", "decoded", "fields", "guess", "error"])
        let fields = try #require(object["fields"] as? [[String: Any]])
        #expect(fields.count == 4)
        for field in fields { #expect(Set(field.keys) == ["name", "value", "raw", "unit", "text"]) }
        #expect(fields[0]["value"] as? [String] == [])
        #expect(fields[0]["raw"] as? Int == 0x10)
        #expect(fields[1]["value"] as? Int == 72)
        #expect(fields[1]["raw"] as? Int == 72)
        #expect(fields[3]["raw"] is NSNull)
        #expect(fields[1]["unit"] as? String == "bpm")
        #expect(fields[3]["value"] as? Double == 0.875)
        #expect(fields[3]["text"] as? String == "0.875 s")
        let own = try await world.ble("notify", "Sensor", "ff01", "--count", "1").run()
        #expect(own.output == "d700  21.5 °C\n")
    }

    @Test func `inspect shows every value behind its characteristic, and errors in their place`() async throws {
        let world = try await world()
        let result = try await world.ble("inspect", "Sensor", "--values", "--guess").run()
        #expect(result.status == 0)
        let lines = result.output.split(separator: "\n").map {
            $0.split(separator: " ", maxSplits: 1).last.map(String.init) ?? ""
        }
        func line(_ uuid: String) -> String? { lines.first { $0.contains(" \(uuid) ") } }
        #expect(line("2a6e")?.hasSuffix("read  5908  21.37 °C") == true)
        #expect(line("2a6d")?.contains("read  (") == true)
        #expect(line("2a37")?.hasSuffix("notify") == true)
        #expect(line("ff01")?.hasSuffix("read notify  d600  21.4 °C") == true)
        #expect(line("ff02")?.hasSuffix("read  32312e35  guess: float 21.5") == true)
    }

    @Test func `inspect has values and errors under stable keys`() async throws {
        let world = try await world()
        let result = try await world.ble("inspect", "Sensor", "--values", "--json").run()
        let services = try #require(try result.objects.first?["services"] as? [[String: Any]])
        let characteristics = services.flatMap { $0["characteristics"] as? [[String: Any]] ?? [] }
        func find(_ uuid: String) throws -> [String: Any] {
            try #require(characteristics.first { $0["uuid"] as? String == uuid })
        }
        let keys: Set = ["uuid", "name", "handle", "properties", "descriptors"]
        #expect(try Set(find("2a6e").keys) == keys.union(["value", "decoded", "fields", "guess", "error"]))
        #expect(try find("2a6e")["decoded"] as? String == "21.37 °C")
        #expect(try find("2a6e")["error"] is NSNull)
        #expect(try Set(find("2a6d").keys) == Set(find("2a6e").keys))
        #expect(try find("2a6d")["value"] is NSNull)
        #expect(try find("2a6d")["error"] as? String != nil)
        #expect(try Set(find("2a37").keys) == keys)
    }
}
