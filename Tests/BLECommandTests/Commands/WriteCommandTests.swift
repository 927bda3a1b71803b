import BLE
import BLEFakeBlueZ
import BLESimulation
import BLETestSupport
import BlueZTestSupport
import Foundation
import Testing

/// The values that `write` takes.
@Suite(.startsProcesses, .hangLimit)
struct WriteCommandTests {
    private static let celsius = PresentationFormat(format: .sint16, exponent: -1, unit: BluetoothUUID(0x272F))

    private static let lamp = PeripheralDefinition(
        advertisement: Advertisement(localName: "Lamp", rssi: -40),
        services: [
            ServiceDefinition(
                BluetoothUUID(0xFF00),
                characteristics: [
                    CharacteristicDefinition(BluetoothUUID(0x2A19), [.read, .write], value: [0]),
                    CharacteristicDefinition(BluetoothUUID(0x2A6E), [.read, .write], value: [0, 0]),
                    CharacteristicDefinition(
                        BluetoothUUID(0xFF01), [.read, .write], value: [0],
                        descriptors: [DescriptorDefinition(BluetoothUUID(0x2904), value: celsius.bytes)]),
                    CharacteristicDefinition(
                        BluetoothUUID(0xFF02), [.read, .write], value: [0],
                        descriptors: [DescriptorDefinition(BluetoothUUID(0xFF05), value: [9], isWritable: true)]),
                ])
        ])

    @Test(
        arguments: [
            (["2a19", "50"], [0x50], "wrote 1 byte: 50  80 %\n"), (["2a19", "50%"], [50], "wrote 1 byte: 32  50 %\n"),
            (["2a19", "battery-level=5"], [5], "wrote 1 byte: 05  5 %\n"),
            (["2a6e", "21.37 °C"], [0x59, 0x08], "wrote 2 bytes: 5908  21.37 °C\n"),
            (["2a6e", "--", "-0.01"], [0xFF, 0xFF], "wrote 2 bytes: ffff  -0.01 °C\n"),
            (["2a6e", "unknown"], [0x00, 0x80], "wrote 2 bytes: 0080  value is not known\n"),
            (["ff01", "21.5"], [0xD7, 0x00], "wrote 2 bytes: d700  21.5 °C\n"),
            (["ff02", "--text", "-Grüße"], Array("-Grüße".utf8), "wrote 8 bytes: 2d4772c3bcc39f65\n"),
            (["ff02", "--uint8", "0xff"], [255], "wrote 1 byte: ff\n"),
            (["ff02", "--uint16", "300"], [0x2C, 0x01], "wrote 2 bytes: 2c01\n"),
            (["ff02", "--uint32", "4294967295"], [255, 255, 255, 255], "wrote 4 bytes: ffffffff\n"),
            (["ff02", "--sint8", "-5"], [0xFB], "wrote 1 byte: fb\n"),
            (["ff02", "--sint16", "-2"], [0xFE, 0xFF], "wrote 2 bytes: feff\n"),
            (["ff02", "--sint32", "1"], [1, 0, 0, 0], "wrote 4 bytes: 01000000\n"),
            (["ff02", ""], [], "wrote 0 bytes\n"),
        ] as [([String], [UInt8], String)])
    func `a value is bytes, text for the format, or a number`(
        _ arguments: [String], _ bytes: [UInt8], _ output: String
    ) async throws {
        let world = try await BlueZWorld()
        let lamp = await world.radio.add(Self.lamp)
        // The options of the world precede a hyphen that ends the options.
        let result = try await Tool(
            ["write", "--bus", world.bus.address, "--timeout", "\(HangLimit.stepSeconds)", "Lamp"] + arguments
        ).run()
        #expect(result.output == output, "\(result.errors)")
        let uuid = try #require(BluetoothUUID(arguments[0]))
        #expect(await lamp.value(of: uuid) == bytes)
    }

    @Test func `a value is read from a file or from standard input, up to 512 bytes`() async throws {
        let world = try await BlueZWorld()
        let lamp = await world.radio.add(Self.lamp)
        let file = FileManager.default.temporaryDirectory.appending(path: "value-\(UUID().uuidString)")
        try Data([1, 0, 0x0A]).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(try await world.ble("write", "Lamp", "ff02", "--file", file.path).run().status == 0)
        #expect(await lamp.value(of: BluetoothUUID(0xFF02)) == [1, 0, 0x0A])
        #expect(try await world.ble("write", "Lamp", "ff02/ff05", "--file", file.path).run().status == 0)
        #expect(try await world.ble("read", "Lamp", "ff02/ff05").run().output == "01000a\n")
        let piped = try await world.ble("write", "Lamp", "ff02", "-", input: "5\n").run()
        #expect(piped.output == "wrote 2 bytes: 350a\n")
        #expect(await lamp.value(of: BluetoothUUID(0xFF02)) == Array("5\n".utf8))

        let long = try await world.ble("write", "Lamp", "ff02", "-", input: String(repeating: "x", count: 513)).run()
        #expect(long.status == 64)
        #expect(long.errors.contains("Standard input has more than 512 bytes"))
        try Data(repeating: 0, count: 513).write(to: file)
        let tooLong = try await world.ble("write", "Lamp", "ff02", "--file", file.path).run()
        #expect(tooLong.status == 64)
        #expect(tooLong.errors.contains("has more than 512 bytes"))
        let endless = try await world.ble("write", "Lamp", "ff02", "--file", "/dev/zero").run()
        #expect(endless.errors.contains("has more than 512 bytes"))
        let missing = try await world.ble("write", "Lamp", "ff02", "--file", "/nonexistent").run()
        #expect(missing.status == 64)
        #expect(missing.errors.contains("/nonexistent cannot be read"))
        #expect(await lamp.value(of: BluetoothUUID(0xFF02)) == Array("5\n".utf8))
    }

    @Test(
        arguments: [
            (["2a19", "300%"], "Battery Level is 300 %, which is not from 0 % to 255 %."),
            (["2a19", "5"], "--uint8 5"), (["2a19", "5 kg"], "its unit is %"),
            (["2a6e", "21.375"], "21.37 °C and 21.38 °C"),
            (["2a19/2901", "50%"], "two hexadecimal digits"), (["2a19"], "Give one value"),
            (["2a19", "50", "--text", "x"], "Give one value"),
            (["2a19", "--uint8", "1", "--sint8", "1"], "Give one value"),
            (["2a19", "--uint8", "256"], "from 0 to 255"), (["2a19", "--sint8", "-129"], "from -128 to 127"),
            (["2a19", "--uint16", "1.5"], "not an integer"),
        ])
    func `a value that is not clear ends with 64, without a link`(_ arguments: [String], _ message: String) async throws
    {
        let result = try await Tool(["write", "X"] + arguments).run()
        #expect(result.status == 64)
        #expect(result.output == "")
        #expect(result.errors.contains(message), "\(result.errors)")
    }

    @Test func `text for an unknown format, or outside of the peripheral's own, ends with 64`() async throws {
        let world = try await BlueZWorld()
        let lamp = await world.radio.add(Self.lamp)
        let unknown = try await world.ble("write", "Lamp", "ff02", "21.5").run()
        #expect(unknown.status == 64)
        #expect(unknown.errors.contains("the format of ff02 is not known"))
        let outside = try await world.ble("write", "Lamp", "ff01", "9999 °C").run()
        #expect(outside.status == 64)
        #expect(outside.errors.contains("which is not from -3276.8 °C to 3276.7 °C"))
        #expect(await lamp.value(of: BluetoothUUID(0xFF01)) == [0])
    }

    @Test func `the JSON has the value that was written, decoded`() async throws {
        let world = try await BlueZWorld()
        _ = await world.radio.add(Self.lamp)
        let object = try #require(
            try await world.ble("write", "Lamp", "2a6e", "21.5", "--json").run().objects.first)
        #expect(Set(object.keys) == ["id", "uuid", "descriptor", "value", "decoded"])
        #expect(object["value"] as? String == "6608")
        #expect(object["decoded"] as? String == "21.5 °C")
        let plain = try #require(try await world.ble("write", "Lamp", "ff02", "01", "--json").run().objects.first)
        #expect(plain["decoded"] is NSNull)
    }
}
