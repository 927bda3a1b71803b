import BLE
import BLEProfiles
import Testing

@testable import BLECommand

@Suite struct ScanTableTests {
    private func table() -> ScanTable {
        var table = ScanTable()
        table.update("C0:00:00:00:00:01", Advertisement(localName: "Zebra", rssi: -70), now: .seconds(1))
        table.update("C0:00:00:00:00:02", Advertisement(rssi: -40), now: .seconds(2))
        table.update("C0:00:00:00:00:03", Advertisement(localName: "apple"), now: .seconds(3))
        return table
    }

    private func ids(_ order: ScanTable.Order) -> [Character] {
        table().lines(order: order, now: .seconds(4), width: 120, height: 10) { $0 }.dropFirst()
            .compactMap { $0.split(separator: " ").first { $0.hasPrefix("C0:") }?.last }
    }

    @Test func `the order is by strength, name, age or discovery`() {
        #expect(ids(.rssi) == ["2", "1", "3"])
        #expect(ids(.name) == ["3", "1", "2"])
        #expect(ids(.age) == ["3", "2", "1"])
        #expect(ids(.found) == ["1", "2", "3"])
    }

    @Test func `a row has the strength with a bar, and the time since the last advertisement`() {
        let lines = table().lines(order: .found, now: .seconds(9), width: 60, height: 10) { $0 }
        #expect(lines[1] == "    -70 ▂▃▅··  8 s C0:00:00:00:00:01 Zebra               ")
        #expect(lines[3].hasPrefix("               6 s C0:00:00:00:00:03 apple"))
    }

    @Test(arguments: [(-120, "·····"), (-100, "·····"), (-90, "▂····"), (-72, "▂▃▅··"), (-50, "▂▃▅▆█"), (10, "▂▃▅▆█")])
    func `the bar is full from -50 dBm`(_ strength: Int, _ bar: String) {
        #expect(ScanTable.bar(Double(strength)) == bar)
    }

    @Test func `the strength is averaged, and a lost one leaves`() {
        var table = table()
        table.update("C0:00:00:00:00:01", Advertisement(localName: "Zebra", rssi: -30), now: .seconds(5))
        table.remove("C0:00:00:00:00:03")
        let lines = table.lines(order: .rssi, now: .seconds(5), width: 120, height: 10) { $0 }
        #expect(lines.count == 3)
        #expect(lines[1].contains("C0:00:00:00:00:02"))
        #expect(lines[2].contains("-30") && lines[2].contains("▂▃▅▆·"))
    }

    @Test func `what does not fit is counted, and nothing is wider than the terminal`() {
        let lines = table().lines(order: .rssi, now: .seconds(4), width: 30, height: 3) { $0 }
        #expect(lines.count == 3)
        #expect(lines.last == "… 2 more")
        #expect(lines.allSatisfy { $0.columns <= 30 })
    }

    @Test func `what does not fit beside the name has a line of its own`() {
        var table = ScanTable()
        table.update(
            "C0:00:00:00:00:01",
            Advertisement(
                localName: "Simulated Thermometer", rssi: -70,
                serviceData: [BluetoothUUID(0xFCD2): [0x40, 0x02, 0xCA, 0x09, 0x03, 0xBF, 0x13]]), now: .zero)
        table.update("C0:00:00:00:00:02", Advertisement(rssi: -40, serviceUUIDs: [.battery]), now: .zero)
        func lines(_ width: Int, _ height: Int) -> [String] {
            table.lines(order: .found, now: .zero, width: width, height: height) { $0 }
        }
        #expect(lines(160, 10).count == 3)
        let narrow = lines(80, 10)
        #expect(narrow.count == 4)
        #expect(narrow[2] == "        BTHome: temperature 25.06 °C, humidity 50.55 %")
        #expect(narrow[3].hasSuffix("battery"))
        #expect(lines(80, 3).dropFirst() == ["… 2 more"])
        #expect(lines(80, 4).count == 4)
    }

    @Test func `only what is shown is decoded, however many are in range`() {
        var table = ScanTable()
        for number in 0..<1000 {
            table.update(Peripheral.ID(rawValue: "thing \(number)"), Advertisement(rssi: -70), now: .zero)
        }
        var decoded = 0
        let lines = table.lines(order: .rssi, now: .zero, width: 80, height: 24) { _ in
            decoded += 1
            return ""
        } heading: {
            $0
        }
        #expect(lines.count == 24)
        #expect(lines.last == "… 978 more")
        #expect(decoded == 23)
    }

    @Test func `known formats are shown with their meaning, others in hexadecimal`() {
        let advertisement = Advertisement(
            serviceUUIDs: [BluetoothUUID(0x180F)], manufacturerData: [0xFFFF: [1, 2]],
            serviceData: [BluetoothUUID(0xFCD2): [0x40, 0x02, 0xCA, 0x09, 0x03, 0xBF, 0x13]])
        let text = ScanCommand.contents(of: advertisement)
        #expect(text == "battery BTHome: temperature 25.06 °C, humidity 50.55 % ffff:0102")
    }
}
