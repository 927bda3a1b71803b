import BLE
import BLEAssignedNumbers
import Testing

@Suite struct UnitSymbolTests {
    @Test(
        arguments: [
            (0x272F, "°C"), (0x27AD, "%"), (0x27AF, "bpm"), (0x2713, "m/s²"), (0x2728, "V"), (0x27C6, "mg/dL/min"),
            (0x2763, "°"),
            (0x2700, nil), (0x271D, nil), (0x2799, nil), (0x2A19, nil),
        ] as [(UInt32, String?)])
    func `a unit has its symbol`(_ number: UInt32, _ symbol: String?) {
        #expect(AssignedNumbers.unitSymbol(BluetoothUUID(number)) == symbol)
    }

    @Test func `every unit but those without dimension has one`() {
        let units = AssignedNumbers.all(.unit)
        #expect(units.count >= 127)
        let without = units.filter { AssignedNumbers.unitSymbol($0.uuid!) == nil }
        #expect(without.map(\.name) == ["unitless", "refractive index", "relative permeability"])
    }
}
