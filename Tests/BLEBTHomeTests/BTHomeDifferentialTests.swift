#if BTHomeEncryption
    import BLE
    import BLEBTHome
    import BLE
    import Foundation
    import Testing

    /// The package bthome-ble and this module decode packets to the same values. `Scripts/test --differential` writes
    /// the packets; Tests/Tools/Differential/bthome.py describes the file's form.
    @Suite struct BTHomeDifferentialTests {
        private static let path = ProcessInfo.processInfo.environment["BLE_BTHOME_CASES"]

        @Test(.enabled(if: path != nil, "Scripts/test --differential"))
        func `packets are read as bthome-ble reads them`() throws {
            let lines = try String(contentsOfFile: #require(Self.path), encoding: .utf8).split(separator: "\n")
            var ids: Set<UInt8> = []
            for line in lines {
                let fields = line.split(separator: " ").map(String.init)
                let data = try #require(Hex.bytes(fields[0]))
                let report = try #require(
                    try BTHome.decode(Advertisement(serviceData: [BluetoothUUID(0xFCD2): data])), "\(line)")
                let key = Hex.bytes(fields[1]).flatMap { BTHomeKey($0) }
                let objects = try report.objects(key: key, address: #require(Hex.bytes(fields[2])))
                try #require(objects.count == fields.count - 3, "\(line)")
                for (object, field) in zip(objects, fields.dropFirst(3)) {
                    #expect(object.agrees(with: field), "\(object): \(line)")
                }
                ids.formUnion(objects.map(\.kind.id))
                #expect(try report.advertisement().serviceData.values.first == data, "\(line)")
            }
            // Both know the same ids.
            #expect(ids == Set(BTHomeKind.all.map(\.id)))
        }
    }

    extension BTHomeObject {
        /// Whether this object is that of `field`, such as `n:25.06`.
        fileprivate func agrees(with field: String) -> Bool {
            let parts = field.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
            return switch (parts[0], content) {
            // Steps of 0.35 °C are rounded to tenths there.
            case ("n", .number) where kind.id == 0x58:
                abs((value ?? .nan) - (Double(parts[1]) ?? .nan)) < 0.051
            case ("n", .number): value == Double(parts[1])
            case ("f", .flag(let isOn)): (isOn ? "1" : "0") == parts[1]
            case ("e", .button(let button)): button.snakeCased == parts[1]
            case ("d", .dimmer(let direction, let steps)):
                [direction.snakeCased, String(steps)] == [parts[1], parts[2]]
            case ("c", .command(let command, let arguments)):
                [command.snakeCased, Hex.string(arguments)] == [parts[1], parts[2]]
            case ("t", .text(let text)): Hex.string(text.utf8) == parts[1]
            case ("r", .raw(let bytes)): Hex.string(bytes) == parts[1]
            case ("v", .version(let numbers)): numbers.map(String.init).joined(separator: ".") == parts[1]
            default: false
            }
        }
    }

    extension RawRepresentable<UInt8> {
        /// The case's name as the package writes it: `double_press`.
        fileprivate var snakeCased: String { "\(self)".replacing(" ", with: "_") }
    }
#endif
