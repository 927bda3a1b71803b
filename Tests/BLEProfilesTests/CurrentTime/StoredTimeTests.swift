import BLE
import BLEProfiles
import FoundationEssentials
import Testing

@Suite struct StoredTimeTests {
    @Test func `any accuracy can be stored`() throws {
        for accuracy in UInt8.min...UInt8.max {
            let information = try ReferenceTimeInformation(bytes: [1, accuracy, 2, 3])
            let data = try JSONEncoder().encode(information)
            #expect(try JSONDecoder().decode(ReferenceTimeInformation.self, from: data) == information)
        }
    }
}
