import BLE
import BLEProfiles
import Testing

/// Requirements for every value of the everyday services.
@Suite struct EverydayValuesTests {
    @Test(arguments: TypedValues.everyday.indices) func `any bytes are a value or an error`(_ index: Int) throws {
        try checkAnyBytes(TypedValues.everyday[index], seed: UInt64(index))
    }

    @Test func `no characteristic is there twice`() {
        #expect(Set(TypedValues.everyday.map(\.uuid)).count == TypedValues.everyday.count)
    }
}
