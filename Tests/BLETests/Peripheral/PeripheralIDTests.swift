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

    @Test func `the order and the equality of ids are those of their texts`() {
        let ids =
            [0, 0xFFFF_FFFF_FFFF, 0x0A9B_8C7D_6E5F, 0x0A9B_8C7D_6E60].map { DeviceID(address: UInt64($0)) } + [
                DeviceID(address: "0a:9b:8c:7d:6e:5f"), "strap", "", "9", "A", "00:00:00:00:00:0G",
                "00:00:00:00:00:00 ",
            ]
        for one in ids {
            for other in ids {
                #expect((one < other) == (one.rawValue < other.rawValue))
                #expect((one == other) == (one.rawValue == other.rawValue))
                #expect((one != other) == (one.rawValue != other.rawValue))
                if one == other { #expect(one.hashValue == other.hashValue) }
            }
        }
        #expect(Set(ids).count == Set(ids.map(\.rawValue)).count)
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
