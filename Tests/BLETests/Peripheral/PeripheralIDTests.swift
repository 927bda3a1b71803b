import BLE
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

    @Test func `an id is stored as its text`() throws {
        let ids: [Peripheral.ID] = ["F0:F1:F2:F3:F4:F5"]
        let data = try JSONEncoder().encode(ids)
        #expect(String(decoding: data, as: UTF8.self) == #"["F0:F1:F2:F3:F4:F5"]"#)
        #expect(try JSONDecoder().decode([Peripheral.ID].self, from: data) == ids)
        let stored = Data(#"["f0:f1:f2:f3:f4:f5"]"#.utf8)
        #expect(try JSONDecoder().decode([Peripheral.ID].self, from: stored) == ids)
    }
}
