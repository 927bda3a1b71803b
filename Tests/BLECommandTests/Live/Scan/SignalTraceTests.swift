import BLE
import Testing

@testable import BLECommand

@Suite struct SignalTraceTests {
    @Test func `the usual interval is the median, which lost packets do not change`() {
        var trace = SignalTrace(limit: 100)
        for milliseconds in [0, 200, 400, 600] { trace.append(Advertisement(), at: .milliseconds(milliseconds)) }
        #expect(trace.interval == nil)
        for milliseconds in [2600, 2800, 3000] { trace.append(Advertisement(), at: .milliseconds(milliseconds)) }
        #expect(trace.interval == .milliseconds(200))
    }

    @Test func `each second has its average, and a silent one has none`() {
        var trace = SignalTrace(limit: 100)
        for (milliseconds, rssi) in [(1000, -50), (1900, -60), (3100, -80), (4000, nil)] as [(Int, Int?)] {
            trace.append(Advertisement(rssi: rssi), at: .milliseconds(milliseconds))
        }
        #expect(trace.strengths(last: 5, now: .milliseconds(4500)) == [nil, -55, nil, -80, nil])
        #expect(trace.strengths(last: 2, now: .seconds(3)) == [nil, -80])
        #expect(trace.strengths(last: 2, now: .seconds(30)) == [nil, nil])
        #expect(trace.strengths(last: 0, now: .seconds(3)) == [])
    }

    @Test func `no more is kept than the limit`() {
        var trace = SignalTrace(limit: 5)
        for second in 0..<100 { trace.append(Advertisement(rssi: -second), at: .seconds(second)) }
        #expect(trace.packets.map(\.time) == (95..<100).map { .seconds($0) })
        #expect(trace.strengths(last: 10, now: .seconds(99)).compactMap(\.self).count == 5)
        trace.limit = 2
        #expect(trace.packets.count == 2)
    }
}
