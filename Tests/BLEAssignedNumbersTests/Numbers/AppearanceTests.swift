import BLE
import BLEAssignedNumbers
import BLEProfiles
import Testing

@Suite struct AppearanceTests {
    @Test(
        arguments: [
            (0x0000, "Unknown", nil, "Unknown"), (0x0340, "Heart Rate Sensor", nil, "Heart Rate Sensor"),
            (0x0341, "Heart Rate Sensor", "Heart Rate Belt", "Heart Rate Sensor: Heart Rate Belt"),
            (0x0083, "Computer", "Laptop", "Computer: Laptop"), (0x00BF, "Computer", nil, "Computer"),
            (0xFFC0, nil, nil, nil), (0xFFC1, nil, nil, nil),
        ] as [(UInt16, String?, String?, String?)])
    func `a value has a category and perhaps a subcategory`(
        _ value: UInt16, _ category: String?, _ subcategory: String?, _ name: String?
    ) {
        let appearance = Appearance(rawValue: value)
        #expect(appearance.category == category)
        #expect(appearance.subcategory == subcategory)
        #expect(appearance.name == name)
    }

    @Test func `every subcategory is below a category`() throws {
        for entry in AssignedNumbers.all(.appearance) {
            #expect(Appearance(rawValue: try #require(entry.number)).name == entry.name)
        }
    }

    @Test func `two bytes spell it`() throws {
        let coding = Characteristic<Appearance>.appearance.coding
        #expect(try coding.decode([0x41, 0x03]) == Appearance(rawValue: 0x0341))
        #expect(try coding.encode(Appearance(rawValue: 0x0341)) == [0x41, 0x03])
        #expect { try coding.decode([0x41]) } throws: { ($0 as? BLEError)?.code == .invalidValue }
    }
}
