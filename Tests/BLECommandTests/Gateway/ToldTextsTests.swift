import Testing

@testable import BLECommand

struct ToldTextsTests {
    private var told = ToldTexts()

    @Test mutating func `a text is told once an hour`() {
        for minute in 0..<60 { #expect(told.insert("no service", at: .seconds(60 * minute)) == (minute == 0)) }
        #expect(told.insert("timed out", at: .seconds(3599)) == true)
        #expect(told.insert("no service", at: .seconds(3600)) == true)
        #expect(told.insert("timed out", at: .seconds(3600)) == false)
    }

    @Test mutating func `after the last text that is told, it is full`() {
        let places = (0..<40).filter { told.insert("\($0)", at: .zero) && told.isFull }
        #expect(places == [31])
    }

    @Test mutating func `texts that are always different are bounded`() {
        #expect((0..<100).count { told.insert("\($0)", at: .seconds($0)) } == 32)
        #expect((0..<100).count { told.insert("\($0)", at: .seconds(4000 + $0)) } == 32)
    }
}
