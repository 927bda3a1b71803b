import BLE
import BLESimulation
import Foundation
import Testing

@Suite struct PeripheralIDTests {
    @Test(arguments: ["F0:F1:F2:F3:F4:F5", "f0:f1:f2:f3:f4:f5", "F0-f1-F2-f3-F4-f5"])
    func `an address has one notation`(_ text: String) {
        let id = Peripheral.ID(rawValue: text)
        #expect(id == "F0:F1:F2:F3:F4:F5")
        #expect(id.rawValue == "F0:F1:F2:F3:F4:F5")
        #expect(id.isAddress)
    }

    @Test(arguments: [
        "", "strap", "not an address", "F0:F1:F2:F3:F4", "F0:F1:F2:F3:F4:F5:F6", "F0:F1:F2:F3:F4:G5", "F0F1F2F3F4F5",
        "F0:F1:F2:F3:F4:F", "F0:F1:F2:F3:F4:F5 ", "ＦF:F1:F2:F3:F4:F5",
    ])
    func `any other text is kept, and is not an address`(_ text: String) {
        let id = Peripheral.ID(rawValue: text)
        #expect(id.rawValue == text)
        #expect(!id.isAddress)
    }

    @Test(arguments: 0..<100) func `the order and the equality of ids are those of their texts`(_ seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        func random() -> Peripheral.ID {
            let address = DeviceID(address: UInt64.random(in: 0..<1 << 48, using: &generator))
            let others: [Peripheral.ID] = [address, DeviceID(rawValue: "\(address) "), "strap", "", "9", "A"]
            return others.randomElement(using: &generator)!
        }
        let (one, other) = (random(), random())
        #expect((one < other) == (one.rawValue < other.rawValue))
        #expect((one == other) == (one.rawValue == other.rawValue))
        let copy = DeviceID(rawValue: one.rawValue)
        #expect(copy == one && copy.hashValue == one.hashValue)
    }

    @Test(arguments: [
        (0, "00:00:00:00:00:00"), (0xF0F1_F2F3_F4F5, "F0:F1:F2:F3:F4:F5"), (0x0A9B_8C7D_6E5F, "0A:9B:8C:7D:6E:5F"),
        (0xFFFF_FFFF_FFFF, "FF:FF:FF:FF:FF:FF"),
    ])
    func `an address is a number`(_ number: UInt64, _ text: String) {
        #expect(DeviceID(address: number).rawValue == text)
        #expect(DeviceID(rawValue: text).address == number)
        #expect(DeviceID(address: text) == DeviceID(address: number))
        #expect(DeviceID(rawValue: text + "0").address == nil)
    }

    @Test func `an id has no memory of its own if it is an address`() {
        #expect(MemoryLayout<DeviceID>.size == 16)
        #expect(MemoryLayout<DeviceID?>.size == 16)
    }

    @Test func `an id is stored as its text`() throws {
        let ids: [Peripheral.ID] = ["F0:F1:F2:F3:F4:F5"]
        let data = try JSONEncoder().encode(ids)
        #expect(String(decoding: data, as: UTF8.self) == #"["F0:F1:F2:F3:F4:F5"]"#)
        #expect(try JSONDecoder().decode([Peripheral.ID].self, from: data) == ids)
        let stored = Data(#"["f0:f1:f2:f3:f4:f5"]"#.utf8)
        #expect(try JSONDecoder().decode([Peripheral.ID].self, from: stored) == ids)
    }
}
