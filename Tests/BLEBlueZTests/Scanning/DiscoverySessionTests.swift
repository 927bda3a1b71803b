import BLE
import BLESimulation
import BLETestSupport
import Testing
import Waiting

@testable import BLEBlueZ

/// The session with bluetoothd, and the wishes that it serves.
@Suite(.hangLimit)
struct DiscoverySessionTests {
    private typealias Call = DiscoverySession.Call

    private static let (le, any) = (DiscoveryFilter(), DiscoveryFilter(transport: .any))
    private static let heartRate = DiscoveryFilter(services: [BluetoothUUID(0x180D)], minimumRSSI: -70)
    private static let battery = DiscoveryFilter(services: [BluetoothUUID(0x180F)], minimumRSSI: -80)

    private var session = DiscoverySession()
    private var now = Duration.zero

    /// Expects a call, and answers it.
    private mutating func answer(_ call: Call, _ code: BLEError.Code? = nil) {
        #expect(session.begin() == .call(call))
        reply(code)
    }

    private mutating func reply(_ code: BLEError.Code? = nil) {
        session.answered(code.map { .failure(BLEError($0, "refused")) } ?? .success(()), at: now)
    }

    private mutating func pause(_ duration: Duration) {
        #expect(session.begin() == .pause(duration))
        now += duration
        session.endPause()
    }

    private mutating func scan(_ filter: DiscoveryFilter = Self.le) async throws -> Int {
        let (wish, start) = session.want(filter)
        answer(.setFilter(filter))
        answer(.start)
        try await start.wait()
        #expect(session.begin() == nil)
        return wish
    }

    // MARK: Wishes

    @Test mutating func `a session begins with the first wish, and ends with the last`() async throws {
        let first = try await scan(Self.heartRate)
        let (second, start) = session.want(Self.battery)
        let both = DiscoveryFilter(services: [BluetoothUUID(0x180D), BluetoothUUID(0x180F)], minimumRSSI: -80)
        answer(.setFilter(both))
        try await start.wait()
        session.end(first)
        answer(.setFilter(Self.battery))
        let (_, change) = session.want(Self.any, second)
        answer(.setFilter(Self.any))
        try await change.wait()
        session.end(second)
        let end = session.sessionEnd()
        answer(.stop)
        answer(.setFilter(nil))
        try await end.wait()
        #expect(session.isAtRest)
    }

    @Test mutating func `a wish that ends while its session begins leaves it to the next one`() async throws {
        let (first, start) = session.want(Self.le)
        answer(.setFilter(Self.le))
        #expect(session.begin() == .call(.start))
        session.end(first, .shutDown)
        await expectError(.shutDown) { try await start.wait() }
        let (_, next) = session.want(Self.any)
        #expect(session.begin() == nil)
        reply()
        answer(.setFilter(Self.any))
        try await next.wait()
        #expect(session.isAtRest)
    }

    @Test(arguments: [true, false])
    mutating func `a change that is refused or given up leaves the former filter`(isRefused: Bool) async throws {
        let wish = try await scan()
        let (_, change) = session.want(Self.any, wish)
        #expect(session.begin() == .call(.setFilter(Self.any)))
        if !isRefused { session.giveUpStart(wish) }
        reply(isRefused ? .failed : nil)
        await expectError(isRefused ? .failed : .cancelled) { try await change.wait() }
        answer(.setFilter(Self.le))
        #expect(session.isAtRest)
        session.end(wish)
        answer(.stop)
    }

    @Test mutating func `a change that is given up as it is answered leaves the former filter`() async throws {
        let wish = try await scan()
        let (_, change) = session.want(Self.any, wish)
        #expect(session.begin() == .call(.setFilter(Self.any)))
        change.deliver(.failure(.cancelled))
        reply()
        session.giveUpStart(wish)
        answer(.setFilter(Self.le))
        #expect(session.isAtRest)
    }

    @Test mutating func `an end does not wait for what others want`() async throws {
        let first = try await scan()
        let (_, start) = session.want(Self.any)
        session.end(first)
        try await session.sessionEnd().wait()
        #expect(start.isOpen)
    }

    @Test mutating func `who joins during a call is not failed by it`() async throws {
        let (_, first) = session.want(Self.any)
        #expect(session.begin() == .call(.setFilter(Self.any)))
        let (_, second) = session.want(Self.le)
        reply(.failed)
        await expectError(.failed) { try await first.wait() }
        answer(.setFilter(Self.le))
        #expect(session.begin() == .call(.start))
        let (_, third) = session.want(Self.battery)
        reply(.timedOut)
        await expectError(.timedOut) { try await second.wait() }
        answer(.stop)
        answer(.setFilter(Self.battery))
        answer(.start)
        try await third.wait()
    }

    @Test mutating func `a filter that is refused ends who asks for it, and the others go on`() async throws {
        let first = try await scan()
        let (_, start) = session.want(Self.any)
        answer(.setFilter(Self.any), .failed)
        await expectError(.failed) { try await start.wait() }
        answer(.setFilter(Self.le), .failed)
        #expect(session.isAtRest)
        session.end(first)
        answer(.stop)
        answer(.setFilter(nil), .failed)
        #expect(session.isAtRest)
    }

    // MARK: Answers

    @Test(arguments: [BLEError.Code.timedOut, .busy])
    mutating func `a session that may have begun is ended before the next one`(code: BLEError.Code) async throws {
        let (_, start) = session.want(Self.le)
        answer(.setFilter(Self.le))
        answer(.start, code)
        if code == .timedOut {
            await expectError(.timedOut) { try await start.wait() }
            answer(.stop, .busy)
            pause(.milliseconds(10))
            answer(.stop)
            answer(.setFilter(nil))
        } else {
            pause(.milliseconds(500))
            answer(.stop, .scanFailed)
            answer(.setFilter(Self.le))
            answer(.start)
            try await start.wait()
        }
        #expect(session.isAtRest)
    }

    @Test mutating func `a start that is refused for 15 s fails`() async throws {
        let (_, start) = session.want(Self.le)
        for _ in 0..<30 {
            answer(.setFilter(Self.le))
            answer(.start, .busy)
            pause(.milliseconds(500))
            answer(.stop, .scanFailed)
        }
        #expect(start.isOpen)
        answer(.setFilter(Self.le))
        answer(.start, .busy)
        await expectError(.busy) { try await start.wait() }
        answer(.stop, .scanFailed)
        answer(.setFilter(nil))
        #expect(session.isAtRest)
    }

    @Test mutating func `an end that is refused for 30 s is given up until something else is wanted`() async throws {
        let wish = try await scan()
        session.end(wish)
        let end = session.sessionEnd()
        for duration in [10, 20, 40, 80, 160, 320, 500, 500] {
            answer(.stop, .busy)
            pause(.milliseconds(duration))
        }
        now += .seconds(29)
        #expect(end.isOpen)
        answer(.stop, .busy)
        await expectError(.busy) { try await end.wait() }
        #expect(session.isAtRest)
        // Who asks again has it tried again, and so has a central that leaves.
        session.endAll(.shutDown)
        #expect(!session.isAtRest)
        let again = session.sessionEnd()
        answer(.stop, .busy)
        #expect(again.isOpen)
        pause(.milliseconds(10))
        let (_, start) = session.want(Self.le)
        answer(.stop)
        answer(.setFilter(Self.le))
        answer(.start)
        try await start.wait()
    }

    @Test mutating func `an end without an answer is told at once, and requested again`() async throws {
        let wish = try await scan()
        session.end(wish)
        let end = session.sessionEnd()
        now += .seconds(10)
        answer(.stop, .timedOut)
        await expectError(.timedOut) { try await end.wait() }
        pause(.milliseconds(10))
        answer(.stop)
        answer(.setFilter(nil))
        #expect(session.isAtRest)
    }

    // MARK: Losses

    @Test mutating func `a start that is answered after a loss is ended, and later wishes begin anew`() async throws {
        let (_, start) = session.want(Self.le)
        answer(.setFilter(Self.le))
        #expect(session.begin() == .call(.start))
        session.void(DiscoverySession.disappeared)
        await expectError(.bluetoothLost) { try await start.wait() }
        let (_, next) = session.want(Self.any)
        reply()
        answer(.stop, .poweredOff)
        answer(.setFilter(Self.any))
        answer(.start)
        try await next.wait()
    }

    @Test mutating func `the failure of a call from before a loss does not end later wishes`() async throws {
        let (_, start) = session.want(Self.le)
        answer(.setFilter(Self.le))
        #expect(session.begin() == .call(.start))
        session.void(DiscoverySession.disappeared)
        let (_, next) = session.want(Self.le)
        reply(.poweredOff)
        await expectError(.bluetoothLost) { try await start.wait() }
        answer(.setFilter(Self.le))
        answer(.start)
        try await next.wait()
        session.void(DiscoverySession.disappeared)
        #expect(session.isAtRest)
    }

    // MARK: Any order

    @Test(arguments: 0..<100)
    mutating func `whatever happens, bluetoothd has what is wanted in the end, and every wait ends`(
        seed: Int
    ) async throws {
        var random = SeededGenerator(seed: UInt64(seed))
        var daemon = Daemon()
        /// The wishes that have not ended, and the waits that have not.
        var wishes: Set<Int> = []
        var starts: [(wish: Int, start: Outcome<Void>)] = []
        var ends: [Outcome<Void>] = []
        /// The answer of the call that is under way, unless bluetoothd takes the call when it answers.
        var inFlight: (call: Call, answer: Result<Void, BLEError>?)?
        let filters = [Self.le, Self.any, Self.heartRate, Self.battery]

        func want(_ session: inout DiscoverySession, _ filter: DiscoveryFilter, _ wish: Int? = nil) {
            let (number, start) = session.want(filter, wish)
            wishes.insert(number)
            starts.append((number, start))
        }
        func proceed(_ session: inout DiscoverySession, _ now: inout Duration, isFaulty: Bool) {
            if let (call, answer) = inFlight {
                #expect(session.begin() == nil)
                inFlight = nil
                now += .milliseconds(Int.random(in: 1...3000, using: &random))
                session.answered(answer ?? daemon.answer(call, isFaulty: isFaulty, using: &random), at: now)
            } else if let step = session.begin() {
                switch step {
                case .pause(let duration):
                    now += duration
                    session.endPause()
                case .call(let call):
                    let isEarly = Bool.random(using: &random)
                    inFlight = (call, isEarly ? daemon.answer(call, isFaulty: isFaulty, using: &random) : nil)
                }
            }
        }
        /// Looks at the waits that have ended.
        func check() async {
            for (wish, start) in starts where !start.isOpen {
                do throws(BLEError) {
                    try await start.wait()
                    #expect(daemon.hasSession)
                } catch  where error.code != .cancelled {
                    if !daemon.hasSession { wishes.remove(wish) }
                } catch {}
            }
            starts.removeAll { !$0.start.isOpen }
            for end in ends where !end.isOpen {
                if (try? await end.wait()) != nil { #expect(!daemon.hasSession || !wishes.isEmpty) }
            }
            ends.removeAll { !$0.isOpen }
        }
        for _ in 0..<200 {
            switch Int.random(in: 0..<16, using: &random) {
            case 0, 1: want(&session, filters.randomElement(using: &random)!)
            case 2:
                guard let wish = wishes.sorted().randomElement(using: &random) else { break }
                wishes.remove(wish)
                session.end(wish)
            case 3:
                guard let wish = wishes.sorted().randomElement(using: &random) else { break }
                want(&session, filters.randomElement(using: &random)!, wish)
            case 4: if let wish = wishes.sorted().randomElement(using: &random) { session.giveUpStart(wish) }
            case 5: ends.append(session.sessionEnd())
            case 6 where Bool.random(using: &random):
                daemon = Daemon()
                wishes = []
                session.void(DiscoverySession.disappeared)
            default: proceed(&session, &now, isFaulty: true)
            }
            await check()
        }
        for _ in 0..<100 where !session.isAtRest { proceed(&session, &now, isFaulty: false) }
        await check()
        #expect(starts.isEmpty && ends.isEmpty)
        // The last wish is one for all, and then there is none.
        let (_, last) = session.want(Self.any)
        for _ in 0..<100 where !session.isAtRest { proceed(&session, &now, isFaulty: false) }
        try #require(!last.isOpen && session.isAtRest)
        try await last.wait()
        #expect(daemon.hasSession && daemon.filter == Self.any)
        session.endAll(.shutDown)
        let end = session.sessionEnd()
        for _ in 0..<100 where !session.isAtRest { proceed(&session, &now, isFaulty: false) }
        #expect(session.isAtRest)
        try await end.wait()
        #expect(!daemon.hasSession && daemon.filter == nil)
    }
}

/// bluetoothd's side of it.
private struct Daemon {
    private(set) var hasSession = false
    private(set) var filter: DiscoveryFilter?
    /// The number of stops that it refuses, because it has not answered a start.
    private var refusals = 0

    mutating func answer(
        _ call: DiscoverySession.Call, isFaulty: Bool, using random: inout some RandomNumberGenerator
    ) -> Result<Void, BLEError> {
        let fault = isFaulty ? Int.random(in: 0..<8, using: &random) : 0
        switch fault {
        case 5: return .failure(BLEError(.failed, "refused"))
        case 6: return .failure(BLEError(.timedOut, "lost"))
        case 7:
            if case .success = handle(call), call == .start { refusals = 3 }
            return .failure(BLEError(.timedOut, "late"))
        default: return handle(call)
        }
    }

    private mutating func handle(_ call: DiscoverySession.Call) -> Result<Void, BLEError> {
        switch call {
        case .setFilter(let filter): self.filter = filter
        case .start:
            if hasSession { return .failure(BLEError(.busy, "In Progress")) }
            hasSession = true
        case .stop:
            guard hasSession else { return .failure(BLEError(.scanFailed, "No discovery started")) }
            if refusals > 0 {
                refusals -= 1
                return .failure(BLEError(.busy, "In Progress"))
            }
            hasSession = false
        }
        return .success(())
    }
}
