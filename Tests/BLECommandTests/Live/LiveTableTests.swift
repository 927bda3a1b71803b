import BLE
import BLEAssignedNumbers
import BLEProfiles
import Testing

@testable import BLECommand

@Suite struct LiveTableTests {
    private func fields(_ uuid: UInt32, _ bytes: [UInt8]) throws -> [FieldValue] {
        try #require(ValueFormat(of: BluetoothUUID(uuid))).decode(bytes)
    }

    @Test func `a characteristic of one field has a line, of several a line each below it`() throws {
        var table = LiveTable()
        table.add(2, "Battery Level")
        table.add(1, "Power Range")
        table.update(2, try fields(0x2A19, [80]))
        table.update(1, try fields(0x2AD8, [0, 0, 0x90, 0x01, 5, 0]))
        #expect(
            table.lines(width: 80) == [
                "Power Range", "  Minimum Power      0 W", "  Maximum Power      400 W",
                "  Minimum Increment  5 W", "Battery Level        80 %",
            ])
    }

    @Test func `numbers that change have a sparkline`() throws {
        var table = LiveTable()
        table.add(1, "Battery Level")
        for level in [50, 51, 52, 50] as [UInt8] { table.update(1, try fields(0x2A19, [level])) }
        #expect(table.lines(width: 80) == ["Battery Level  50 %  ▁▅█▁"])
        #expect(table.lines(width: 23) == ["Battery Level  50 %  █▁"])
        #expect(table.lines(width: 10) == ["Battery Le"])
    }

    @Test func `only the latest numbers are remembered`() throws {
        var table = LiveTable()
        table.add(1, "B")
        for level in 0..<100 { table.update(1, try fields(0x2A19, [UInt8(level)])) }
        let line = try #require(table.lines(width: 500).first)
        #expect(line.filter { "▁▂▃▄▅▆▇█".contains($0) }.count == LiveTable.memory)
    }

    @Test func `what has no value yet says so, and words take a value's place`() throws {
        var table = LiveTable()
        table.add(1, "A")
        table.add(2, "B")
        table.update(2, "not permitted")
        #expect(table.lines(width: 80) == ["A  …", "B  not permitted"])
    }

    @Test func `words go when there is a value again`() throws {
        var table = LiveTable()
        table.add(1, "A")
        table.update(1, "not permitted")
        table.update(1, try fields(0x2A19, [80]))
        #expect(table.lines(width: 80) == ["A  80 %"])
        table.update(1, "not permitted")
        #expect(table.lines(width: 80) == ["A  not permitted"])
        table.update(1, try fields(0x2AD8, [0, 0, 0x90, 0x01, 5, 0]))
        #expect(table.lines(width: 80).count == 4)
    }

    @Test func `columns are those of a terminal`() throws {
        var table = LiveTable()
        table.add(1, "漢字")
        table.add(2, "abcde")
        for level in [50, 51] as [UInt8] {
            table.update(1, try fields(0x2A19, [level]))
            table.update(2, try fields(0x2A19, [level]))
        }
        #expect(table.lines(width: 80) == ["漢字   51 %  ▁█", "abcde  51 %  ▁█"])
        #expect(table.lines(width: 3) == ["漢", "abc"])
    }

    @Test(
        arguments: [
            (4, ["A  1 %", "B  2 %", "C  3 %"]), (3, ["A  1 %", "B  2 %", "C  3 %"]), (2, ["A  1 %", "… 2 more"]),
            (1, ["… 3 more"]), (0, ["… 3 more"]),
        ])
    func `lines that have no room are counted`(_ height: Int, _ lines: [String]) throws {
        var table = LiveTable()
        for (handle, title) in [(1, "A"), (2, "B"), (3, "C")] as [(UInt16, String)] {
            table.add(handle, title)
            table.update(handle, try fields(0x2A19, [UInt8(handle)]))
        }
        #expect(table.lines(width: 80, height: height) == lines)
    }

    @Test func `names of fields do not say how many bits they have`() throws {
        var table = LiveTable()
        table.add(1, "Heart Rate")
        table.update(1, try fields(0x2A37, [0x08, 72, 9, 0]))
        table.update(1, try fields(0x2A37, [0x09, 73, 0, 12, 0]))
        let lines = table.lines(width: 80)
        #expect(lines.contains("  Heart Rate       73 bpm  ▁█"))
        #expect(lines.contains("  Energy Expended  12 kJ   ▁█"))
    }
}
