import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import BLEFakeBlueZ
import BlueZTestSupport
import Foundation
import Testing

/// The output of `profile`, `inspect --values` and `battery` when a peripheral refuses, or goes away.
@Suite(.startsProcesses, .hangLimit)
struct ProfileFailureTests {
    private static func peripheral(_ name: String, _ services: ServiceDefinition...) -> PeripheralDefinition {
        PeripheralDefinition(
            advertisement: Advertisement(localName: name, rssi: -50, serviceUUIDs: Set(services.map(\.uuid))),
            services: services)
    }

    private static let sensing = BluetoothUUID(0x181A)
    private static let temperature = BluetoothUUID(0x2A6E)

    @Test func `a refused subscription is shown in its place, and the others go on`() async throws {
        let world = try await BlueZWorld()
        _ = await world.radio.add(
            Self.peripheral(
                "Station",
                ServiceDefinition(
                    Self.sensing,
                    characteristics: [
                        CharacteristicDefinition(Self.temperature, .notify),
                        CharacteristicDefinition(
                            BluetoothUUID(0x2A6F), .notify, onSubscribe: { await $0.notify([0x94, 0x11]) }),
                    ])))
        await world.daemon.fail("StartNotify", .bluez("NotPermitted", "Notify not permitted"))
        let text = try await world.ble("profile", "environmental-sensing", "Station", "--count", "1").run()
        #expect(text.status == 0)
        let lines = text.output.split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines.first?.hasPrefix("Temperature: ") == true)
        #expect(lines.last == "Humidity: 45 %")
        await world.daemon.fail("StartNotify", .bluez("NotPermitted", "Notify not permitted"))
        let objects = try await world.ble("profile", "181a", "Station", "--count", "1", "--json").run().objects
        #expect(objects.count == 2)
        #expect(Set(objects[0].keys) == Set(objects[1].keys))
        #expect(objects[0]["error"] as? String != nil)
        #expect(objects[1]["error"] is NSNull)
    }

    @Test func `descriptors that cannot be read or make no sense leave the plain name`() async throws {
        let world = try await BlueZWorld()
        func thermometer(_ hundredths: UInt8, _ descriptors: DescriptorDefinition...) -> CharacteristicDefinition {
            CharacteristicDefinition(Self.temperature, .read, value: [hundredths, 0], descriptors: descriptors)
        }
        _ = await world.radio.add(
            Self.peripheral(
                "Station",
                ServiceDefinition(
                    Self.sensing,
                    characteristics: [
                        thermometer(1, DescriptorDefinition(BluetoothUUID(0x2904), value: [4, 0])),
                        thermometer(2, DescriptorDefinition(BluetoothUUID(0x2901), value: Array("a\nb\u{1B}[8m".utf8))),
                    ])))
        let result = try await world.ble("profile", "environmental-sensing", "Station").run()
        #expect(result.status == 0)
        #expect(result.output == "Temperature: 0.01 °C\nTemperature (a\u{FFFD}b\u{FFFD}[8m): 0.02 °C\n")
    }

    @Test func `reading again outlasts the end of a maintained link`() async throws {
        let world = try await BlueZWorld()
        let thing = await world.radio.add(
            Self.peripheral(
                "Thing",
                ServiceDefinition(
                    Self.sensing,
                    characteristics: [CharacteristicDefinition(Self.temperature, .read, value: [1, 0])])))
        await world.daemon.hang("ReadValue")
        let tool = world.ble("profile", "181a", "Thing", "--maintain", "--every", "0.2", "--count", "3", "--json")
        let result = try await tool.run { _ in
            await world.daemon.untilHung()
            await thing.dropLink()
            await world.daemon.release()
        }
        #expect(result.status == 0)
        let objects = try result.objects
        #expect(objects.contains { $0["event"] as? String == "gap" })
        #expect(objects.contains { $0["decoded"] as? String == "0.01 °C" })
    }

    @Test func `the end of a link that is not maintained ends profile`() async throws {
        let world = try await BlueZWorld()
        let thing = await world.radio.add(.battery(name: "Thing"))
        let result = try await world.ble("profile", "battery", "Thing", "--every", "0.2").afterFirstLine { _ in
            await thing.remove()
        }
        #expect([14, 15].contains(result.status))
    }

    private static let silent = BluetoothUUID(0xFF00)

    /// A peripheral whose characteristic notifies the given values, and then no more.
    private static func quiet(_ values: [UInt8]...) -> PeripheralDefinition {
        peripheral(
            "Quiet",
            ServiceDefinition(
                silent,
                characteristics: [
                    CharacteristicDefinition(BluetoothUUID(0xFF01), .read, value: [0]),
                    CharacteristicDefinition(
                        BluetoothUUID(0xFF02), .notify, onSubscribe: { for value in values { await $0.notify(value) } }),
                ]))
    }

    @Test(arguments: [["profile", "ff00", "Quiet"], ["notify", "Quiet", "ff02"]])
    func `a number of values that never come is not waited for without end`(_ command: [String]) async throws {
        let world = try await BlueZWorld()
        _ = await world.radio.add(Self.quiet([1]))
        let tool = world.ble(command + ["--count", "2"], timeout: 1.25, time: .virtual)
        let result = try await tool.run { program in
            try await program.output.until("01\n")
            // That in which the value came, and the next one.
            try await program.pass(.seconds(1.25))
            try await program.pass(.seconds(1.25))
        }
        #expect(result.status == 124)
        #expect(result.errors.contains("no value came for 1.25 seconds; 1 of 2 were received"), "\(result.errors)")
        #expect(result.errors.contains("--duration"))
    }

    @Test(arguments: [["profile", "ff00", "Quiet"], ["notify", "Quiet", "ff02"]])
    func `a duration ends it when nothing comes`(_ command: [String]) async throws {
        let world = try await BlueZWorld()
        _ = await world.radio.add(Self.quiet([1]))
        let tool = world.ble(command + ["--count", "2", "--duration", "2.75"], timeout: 100, time: .virtual)
        let result = try await tool.run { program in
            try await program.output.until("01\n")
            try await program.pass(.seconds(2.75))
        }
        #expect(result.status == 0, "\(result.errors)")
    }

    @Test func `a duration ends it while it looks for the peripheral, and while it connects`() async throws {
        let world = try await BlueZWorld()
        func passWhileScanning(_ program: RunningProgram) async throws {
            await world.daemon.untilHung()
            await world.daemon.release()
            try await program.pass(.seconds(2.75))
        }
        await world.daemon.hang("StartDiscovery")
        let absent = world.ble("profile", "ff00", "Quiet", "--duration", "2.75", timeout: 100, time: .virtual)
        #expect(try await absent.run { try await passWhileScanning($0) }.status == 0)
        await world.daemon.hang("StartDiscovery")
        let away = world.ble(
            "profile", "ff00", "C0:00:00:00:00:01", "--maintain", "--duration", "2.75", timeout: 100, time: .virtual)
        #expect(try await away.run { try await passWhileScanning($0) }.status == 0)
        _ = await world.radio.add(Self.quiet())
        await world.daemon.hang("Connect")
        let hung = world.ble("profile", "ff00", "Quiet", "--duration", "2.75", timeout: 100, time: .virtual)
        let result = try await hung.run { program in
            await world.daemon.untilHung()
            try await program.pass(.seconds(2.75))
        }
        #expect(result.status == 0, "\(result.errors)")
        await world.daemon.release()
    }

    @Test func `where nothing is notified the rounds are counted`() async throws {
        let world = try await BlueZWorld()
        // It can notify, but never does.
        _ = await world.radio.add(.battery(name: "Thing"))
        let silent = try await world.ble("profile", "battery", "Thing", "--every", "0.2", "--count", "2").run()
        #expect(silent.status == 0)
        #expect(silent.output == "Battery Level: 90 %\nBattery Level: 90 %\n")
        _ = await world.radio.add(
            Self.peripheral(
                "Station",
                ServiceDefinition(
                    Self.sensing,
                    characteristics: [CharacteristicDefinition(Self.temperature, .read, value: [1, 0])])))
        let read = try await world.ble("profile", "181a", "Station", "--every", "0.2", "--count", "3").run()
        #expect(read.status == 0)
        #expect(read.output.split(separator: "\n").count == 3)
    }

    @Test func `inspect ends with the link, and shows no value of another`() async throws {
        let world = try await BlueZWorld()
        let thing = await world.radio.add(.battery(name: "Thing"))
        await world.daemon.hang("ReadValue")
        let result = try await world.ble("inspect", "Thing", "--values").run { _ in
            await world.daemon.untilHung()
            await thing.dropLink()
            await world.daemon.release()
        }
        #expect(result.status == 15)
        #expect(result.output == "")
    }

    @Test func `a slow value does not hide the others from inspect`() async throws {
        let world = try await BlueZWorld()
        let (silence, asked) = (AsyncStream<Void>.makeStream(), SharedValue(false))
        _ = await world.radio.add(
            Self.peripheral(
                "Thing",
                ServiceDefinition(
                    Self.sensing,
                    characteristics: [
                        CharacteristicDefinition(
                            BluetoothUUID(0x2A6F), .read,
                            onRead: { (_) throws(ATTError) in
                                asked.change { $0 = true }
                                for await _ in silence.stream {}
                                return [0, 0]
                            }),
                        CharacteristicDefinition(Self.temperature, .read, value: [1, 0]),
                    ])))
        let tool = world.ble("inspect", "Thing", "--values", timeout: 1.25, time: .virtual)
        let result = try await tool.run { program in
            try await asked.until { $0 }
            try await program.pass(.seconds(1.25))
        }
        #expect(result.status == 0)
        let lines = result.output.split(separator: "\n")
        #expect(lines.contains { $0.contains("2a6f") && $0.contains("read  (") })
        #expect(lines.contains { $0.contains("2a6e") && $0.hasSuffix("0100  0.01 °C") })
    }

    @Test func `batteries that do not say where they are are numbered`() async throws {
        let world = try await BlueZWorld()
        func battery(_ level: UInt8, _ format: [UInt8]?) -> ServiceDefinition {
            var service = ServiceDefinition.battery(level: level)
            service.characteristics[0].descriptors =
                format.map { [DescriptorDefinition(BluetoothUUID(0x2904), value: $0)] } ?? []
            return service
        }
        let left = PresentationFormat(format: .uint8, unit: BluetoothUUID(0x27AD), description: .left).bytes
        let unknown = PresentationFormat(format: .uint8, unit: BluetoothUUID(0x27AD), description: .unknown).bytes
        _ = await world.radio.add(
            Self.peripheral(
                "Thing", battery(10, left), battery(20, nil), battery(30, [4, 0]), battery(40, unknown)))
        let result = try await world.ble("battery", "Thing").run()
        #expect(result.status == 0)
        #expect(result.output == "left        10 %\nbattery 2   20 %\nbattery 3   30 %\nbattery 4   40 %\n")
        #expect(!result.errors.contains("ble: "))
    }
}
