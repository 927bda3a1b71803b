import BLE
import Testing

@Suite struct ToldReasonsTests {
    private let busy = BLEError(.failed, "it is busy")
    private let away = BLEError(.failed, "it is away")

    @Test func `reasons that alternate are told once each, and again after it could be used`() {
        var told = ToldReasons()
        let first = [busy, away, busy, away].map { told.tell($0) }
        #expect(first == [true, true, false, false])
        let ends = [told.clear(), told.isEmpty, told.clear(), told.tell(busy)]
        #expect(ends == [true, true, false, true])
    }

    @Test func `a reason with another code or another message is another one`() {
        var told = ToldReasons()
        let other = BLEError(.timedOut, "it is busy")
        let news = [busy, other, away, BLEError(.failed, "it is busy", remedy: "Wait.")].map { told.tell($0) }
        #expect(news == [true, true, true, false])
    }

    @Test func `after a change, all reasons but the last one are told again`() {
        var told = ToldReasons()
        _ = (told.tell(busy), told.tell(away))
        told.change()
        let news = [away, busy].map { told.tell($0) }
        #expect(news == [false, true])
    }

    @Test func `reasons without end take no memory without end, and the newest are known`() {
        var told = ToldReasons()
        let reasons = (0..<100).map { BLEError(.failed, "reason \($0)") }
        let news = reasons.map { told.tell($0) }
        #expect(news.allSatisfy { $0 })
        let newest = reasons.suffix(16).map { told.tell($0) }
        #expect(!newest.contains(true))
        let oldest = told.tell(reasons[0])
        #expect(oldest)
    }
}
