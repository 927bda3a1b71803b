import BLE
import Testing

@testable import BLEFeatures

@Suite struct SessionClaimsTests {
    private let one = DeviceID(rawValue: "C0:00:00:00:00:01")
    private let other = DeviceID(rawValue: "C0:00:00:00:00:02")
    private let idle = SessionClaims.idleTime

    private func guest(_ number: Int) -> DeviceID { DeviceID(rawValue: "C0:00:00:00:01:0\(number)") }

    @Test func `without a proof, the first request claims the session until it is idle`() {
        var claims = SessionClaims(needsProof: false)
        #expect(claims.holder == nil)
        #expect(claims.admit(one, at: .zero) == .admitted(ending: nil))
        claims.finish(one, at: .seconds(1))
        #expect(claims.holder == one)
        #expect(claims.admit(other, at: idle) == .refused)
        #expect(claims.admit(one, at: idle) == .admitted(ending: nil))
        // A request that is being handled keeps the claim.
        #expect(claims.admit(other, at: idle * 3) == .refused)
        claims.finish(one, at: idle * 3)
        #expect(claims.admit(other, at: idle * 4 - .milliseconds(1)) == .refused)
        #expect(claims.admit(other, at: idle * 4) == .admitted(ending: one))
        #expect(claims.holder == other)
        #expect(claims.admit(one, at: idle * 4) == .refused)
    }

    @Test func `requests without a proof claim nothing where it is needed`() {
        var claims = SessionClaims(needsProof: true)
        #expect(claims.admit(other, at: .zero) == .admitted(ending: nil))
        #expect(claims.admit(one, at: .zero) == .admitted(ending: nil))
        #expect(claims.holder == nil)
        #expect(claims.prove(one, at: .zero) == .admitted(ending: nil))
        claims.finish(one, at: .zero)
        #expect(claims.holder == one)
        #expect(claims.admit(other, at: idle - .milliseconds(1)) == .refused)
        // Idle, the holder keeps its claim until another central proves an exchange.
        #expect(claims.admit(other, at: idle) == .admitted(ending: nil))
        #expect(claims.holder == one)
        #expect(claims.prove(other, at: idle) == .admitted(ending: one))
        #expect(claims.holder == other)
    }

    @Test func `a link that ends takes the claim with it`() {
        var claims = SessionClaims(needsProof: false)
        #expect(claims.admit(one, at: .zero) == .admitted(ending: nil))
        claims.remove(one)
        #expect(claims.holder == nil)
        #expect(claims.admit(other, at: .zero) == .admitted(ending: nil))
        // Lateness has no effect.
        claims.finish(one, at: .zero)
        claims.remove(one)
        #expect(claims.holder == other)
    }

    @Test func `guests are bounded, and an idle one makes room`() {
        var claims = SessionClaims(needsProof: true)
        for number in 0..<SessionClaims.maximumGuests {
            #expect(claims.admit(guest(number), at: .seconds(number)) == .admitted(ending: nil))
            claims.finish(guest(number), at: .seconds(number))
        }
        #expect(claims.admit(one, at: .seconds(29)) == .refused)
        #expect(claims.admit(guest(0), at: .seconds(29)) == .admitted(ending: nil))
        // The first is busy; the one that has been idle for longest ends.
        #expect(claims.admit(one, at: .seconds(33)) == .admitted(ending: guest(1)))
        #expect(claims.admit(guest(1), at: .seconds(33)) == .admitted(ending: guest(2)))
    }

    @Test func `a known central replaces the oldest guest, and guests whose requests never end keep no place`() {
        var claims = SessionClaims(needsProof: true)
        // None of their requests ends.
        for number in 0..<SessionClaims.maximumGuests {
            #expect(claims.admit(guest(number), at: .seconds(number)) == .admitted(ending: nil))
        }
        #expect(claims.admit(one, at: .seconds(29)) == .refused)
        #expect(claims.admit(one, at: .seconds(29), isKnown: true) == .admitted(ending: guest(0)))
        #expect(claims.admit(other, at: .seconds(30)) == .refused)
        #expect(claims.admit(other, at: .seconds(31)) == .admitted(ending: guest(1)))
        // A holder is not a guest.
        #expect(claims.prove(one, at: .seconds(31)) == .admitted(ending: nil))
        #expect(claims.admit(guest(0), at: .seconds(31), isKnown: true) == .refused)
    }

    @Test func `a proof does not take the session from a holder that is not idle`() {
        var claims = SessionClaims(needsProof: true)
        for central in [one, other] { #expect(claims.admit(central, at: .zero) == .admitted(ending: nil)) }
        #expect(claims.prove(one, at: .zero) == .admitted(ending: nil))
        #expect(claims.prove(one, at: .zero) == .admitted(ending: nil))
        #expect(claims.prove(other, at: idle * 2) == .refused)
        claims.finish(one, at: idle)
        #expect(claims.prove(other, at: idle * 2 - .milliseconds(1)) == .refused)
        #expect(claims.holder == one)
        #expect(claims.prove(other, at: idle * 2) == .admitted(ending: one))
    }
}
