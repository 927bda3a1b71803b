import Testing

@testable import BLEBlueZ

@Suite struct UnconfirmedValuesTests {
    @Test func `a value counts for one to two time limits`() {
        var values = UnconfirmedValues()
        values.add(at: .zero)
        #expect(values.count(at: .seconds(29)) == 1)
        #expect(values.count(at: .seconds(59)) == 1)
        #expect(values.count(at: .seconds(60)) == 0)
    }

    @Test func `a count that is late does not make a value count for longer`() {
        var values = UnconfirmedValues()
        values.add(at: .zero)
        #expect(values.count(at: .seconds(59)) == 1)
        #expect(values.count(at: .seconds(88)) == 0)
    }

    @Test func `a confirmation is that of the oldest value`() {
        var values = UnconfirmedValues()
        values.add(at: .zero)
        values.add(at: .seconds(31))
        values.remove()
        #expect(values.count(at: .seconds(31)) == 1)
        values.remove()
        values.remove()
        #expect(values.count(at: .seconds(31)) == 0)
    }
}
