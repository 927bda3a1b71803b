import BLE
import BLEProfiles
import Testing

@testable import BLECommand

@Suite struct ScanTableTests {
    private func table() -> ScanTable {
        var table = ScanTable()
        table.update("C0:00:00:00:00:03", Advertisement(localName: "Zebra", rssi: -70), now: .seconds(1))
        table.update("C0:00:00:00:00:02", Advertisement(rssi: -40), now: .seconds(2))
        table.update("C0:00:00:00:00:01", Advertisement(localName: "apple"), now: .seconds(3))
        table.update("C0:00:00:00:00:02", Advertisement(rssi: -40), now: .seconds(3.5))
        return table
    }

    @Test(arguments: [
        (ScanTable.Order.rssi, "231", "321"), (.name, "132", "312"), (.age, "213", "312"), (.address, "123", "321"),
        (.count, "231", "132"), (.found, "321", "123"),
    ])
    func `the order is the requested one or its reverse, with what is unknown at the end`(
        _ order: ScanTable.Order, _ ids: String, _ reversed: String
    ) {
        var table = table()
        #expect(table.ids(order).compactMap(\.rawValue.last) == Array(ids))
        #expect(table.ids(order, isReversed: true).compactMap(\.rawValue.last) == Array(reversed))
    }

    @Test func `a row has the strength with a bar, and the time since the last advertisement`() throws {
        let table = table()
        func line(_ id: Peripheral.ID) throws -> String {
            let row = try #require(table[id])
            return try #require(ScanTable.lines(row, "", now: .seconds(9), width: 60).first)
        }
        #expect(try line("C0:00:00:00:00:03") == "    -70 ▂▃▅··  8 s C0:00:00:00:00:03 Zebra               ")
        #expect(try line("C0:00:00:00:00:01").hasPrefix("               6 s C0:00:00:00:00:01 apple"))
    }

    @Test(arguments: [(-120, "·····"), (-100, "·····"), (-90, "▂····"), (-72, "▂▃▅··"), (-50, "▂▃▅▆█"), (10, "▂▃▅▆█")])
    func `the bar is full from -50 dBm`(_ strength: Int, _ bar: String) {
        #expect(ScanTable.bar(Double(strength)) == bar)
    }

    @Test func `the strength is averaged, and a lost one leaves`() {
        var table = table()
        table.update("C0:00:00:00:00:03", Advertisement(localName: "Zebra", rssi: -30), now: .seconds(5))
        table.remove("C0:00:00:00:00:01")
        #expect(table.ids(.rssi) == ["C0:00:00:00:00:02", "C0:00:00:00:00:03"])
        #expect(table["C0:00:00:00:00:03"]?.strength == -60)
        #expect(table["C0:00:00:00:00:03"]?.advertisement.rssi == -30)
    }

    @Test func `what does not fit beside the name has a line of its own`() {
        var table = ScanTable()
        table.update("C0:00:00:00:00:01", Advertisement(localName: "漢字 Thermometer", rssi: -70), now: .zero)
        let contents = "BTHome: temperature 25.06 °C, humidity 50.55 %"
        for (width, count) in [(160, 1), (80, 2), (30, 2)] {
            let lines = table["C0:00:00:00:00:01"].map {
                ScanTable.lines($0, contents, now: .zero, width: width)
            }
            #expect(lines?.count == count)
            #expect(lines?.allSatisfy { $0.columns <= width } == true)
            #expect(width == 30 || lines?.last?.hasSuffix(contents) == true)
        }
    }

    @Test func `only what has changed is searched again`() {
        var table = ScanTable()
        for number in 0..<100 {
            table.update(Peripheral.ID(rawValue: "thing \(number)"), Advertisement(rssi: -70), now: .zero)
        }
        var searched = 0
        func ids(_ filter: String) -> [Peripheral.ID] {
            table.ids(.found, filter: filter) { row in
                searched += 1
                return "\(row.id.rawValue) \(row.advertisement.localName ?? "")"
            }
        }
        #expect(ids("THING 7").count == 19)
        #expect(searched == 100)
        // Another strength changes nothing.
        table.update("thing 1", Advertisement(rssi: -50), now: .zero)
        table.update("thing 2", Advertisement(localName: "lucky 7"), now: .zero)
        #expect(ids("thing 7").first == "thing 2")
        #expect(searched == 101)
        #expect(ids("").count == 100)
        #expect(searched == 101)
    }

    @Test func `few advertisements are kept of each peripheral, more of the opened one`() throws {
        var table = ScanTable()
        func hear(_ count: Int) {
            for number in 0..<count {
                for id in ["one", "two"] as [Peripheral.ID] {
                    table.update(id, Advertisement(rssi: -50), now: .seconds(number))
                }
            }
        }
        func kept(_ id: Peripheral.ID) -> Int? { table[id]?.trace.packets.count }
        hear(1000)
        #expect(kept("one") == 8 && kept("two") == 8)
        table.open(table["one"])
        hear(100)
        #expect(kept("one") == 108 && kept("two") == 8)
        hear(1000)
        #expect(kept("one") == 240)
        table.open(nil)
        #expect(kept("one") == 8)
        #expect(table["one"]?.count == 2100)
    }

    @Test func `the opened peripheral stays when it is lost, until it is closed`() {
        var table = table()
        table.open(table["C0:00:00:00:00:03"])
        table.removeAll()
        #expect(table.count == 0 && table.ids(.rssi).isEmpty)
        #expect(table["C0:00:00:00:00:03"]?.isLost == true)
        table.update("C0:00:00:00:00:03", Advertisement(rssi: -50), now: .seconds(10))
        #expect(table["C0:00:00:00:00:03"]?.isLost == false && table.count == 1)
        table.remove("C0:00:00:00:00:03")
        table.open(nil)
        #expect(table.count == 0)
    }

    @Test func `known formats are shown with their meaning, others in hexadecimal`() {
        let advertisement = Advertisement(
            serviceUUIDs: [BluetoothUUID(0x180F)], manufacturerData: [0xFFFF: [1, 2]],
            serviceData: [BluetoothUUID(0xFCD2): [0x40, 0x02, 0xCA, 0x09, 0x03, 0xBF, 0x13]])
        let text = ScanCommand.contents(of: advertisement)
        #expect(text == "battery BTHome: temperature 25.06 °C, humidity 50.55 % ffff:0102")
    }
}
