import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import BlueZTestSupport
import Foundation
import Testing

@Suite(.startsProcesses, .hangLimit) struct ProfileCommandTests {
    /// Two thermometers, a hygrometer that refuses, and something that only takes commands.
    private static func station() throws -> PeripheralDefinition {
        func thermometer(_ place: String, _ hundredths: Int16) throws -> CharacteristicDefinition {
            try CharacteristicDefinition(
                Characteristic<Int16>(BluetoothUUID(0x2A6E)), .read, value: hundredths,
                descriptors: [DescriptorDefinition(BluetoothUUID(0x2901), value: Array(place.utf8))])
        }
        let refused = CharacteristicDefinition(
            BluetoothUUID(0x2A6F), .read, onRead: { (_) throws(ATTError) in throw .readNotPermitted })
        return PeripheralDefinition(
            advertisement: Advertisement(localName: "Station", rssi: -50, serviceUUIDs: [BluetoothUUID(0x181A)]),
            services: [
                ServiceDefinition(
                    BluetoothUUID(0x181A),
                    characteristics: [
                        try thermometer("inside", 2137), try thermometer("outside", -512), refused,
                        CharacteristicDefinition(BluetoothUUID(0x2A9F), [.write, .indicate]),
                    ])
            ])
    }

    @Test func `what is notified comes with names and units`() async throws {
        let world = try await BlueZWorld()
        _ = await world.radio.add(.heartRateStrap())
        let lines = try await world.ble("profile", "heart-rate", "--count", "2").run().output.split(separator: "\n")
        #expect(lines.filter { $0.hasPrefix("Heart Rate Measurement: ") && $0.contains("72 bpm") }.count == 2)
        #expect(lines.contains("Body Sensor Location: Chest"))
    }

    @Test func `for programs each value is an object with stable keys`() async throws {
        let world = try await BlueZWorld()
        _ = await world.radio.add(.heartRateStrap())
        let result = try await world.ble("profile", "180d", "--count", "1", "--json").run()
        let measurement = try #require(try result.objects.first { $0["uuid"] as? String == "2a37" })
        #expect(
            Set(measurement.keys) == ["id", "uuid", "handle", "name", "value", "decoded", "fields", "guess", "error"])
        let fields = try #require(measurement["fields"] as? [[String: Any]])
        let rate = try #require(fields.first { $0["unit"] as? String == "bpm" })
        #expect(rate["value"] as? Int == 72)
    }

    @Test func `a service that notifies nothing is read once, a refused value does not end it`() async throws {
        let world = try await BlueZWorld()
        _ = await world.radio.add(try Self.station())
        let result = try await world.ble("profile", "environmental-sensing", "Station").run()
        #expect(result.status == 0)
        let lines = result.output.split(separator: "\n")
        #expect(lines.count == 3)
        #expect(lines.prefix(2) == ["Temperature (inside): 21.37 °C", "Temperature (outside): -5.12 °C"])
        #expect(lines.last?.hasPrefix("Humidity: ") == true)
    }

    @Test func `a service that is not there says so`() async throws {
        let world = try await BlueZWorld()
        _ = await world.radio.add(.battery(name: "Thing"))
        #expect(try await world.ble("profile", "heart-rate", "Thing").run().status == 16)
        #expect(try await world.ble("profile", "no such service").run().status == 64)
        #expect(try await world.ble("profile", "battery", "--every", "0").run().status == 64)
    }
}
