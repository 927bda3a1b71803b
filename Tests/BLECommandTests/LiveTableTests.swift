import BLE
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
}
