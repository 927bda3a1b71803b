import Testing

@testable import BLE

/// The connection machine of a maintained link.
struct UpkeepTests {
    private let backoff = Backoff(initial: .seconds(1), factor: 2, maximum: .seconds(4))

    private func maintained() -> ConnectionMachine {
        var machine = ConnectionMachine()
        #expect(machine.setPolicy(.maintained(backoff: backoff)) == [.publish(.connecting), .startAttempt(1)])
        return machine
    }

    @Test func `it is connected at once, and again after the first pause when it is lost`() {
        var machine = maintained()
        #expect(machine.attemptSucceeded(1) == [.publish(.connected), .succeed([])])
        #expect(machine.linkLost() == [.tell(.linkEnded), .publish(.disconnected), .scheduleRetry(after: .seconds(1))])
        #expect(machine.retryIsDue() == [.publish(.connecting), .startAttempt(2)])
    }

    @Test func `attempts that fail are followed by growing pauses, until one succeeds`() {
        var machine = maintained()
        for (number, pause) in [1, 2, 4, 4].enumerated() {
            #expect(
                machine.attemptFailed(number + 1)
                    == [
                        .publish(.disconnected), .scheduleRetry(after: .seconds(pause)),
                        .tell(.attemptFailed(retryAfter: .seconds(pause))),
                    ])
            #expect(machine.retryIsDue() == [.publish(.connecting), .startAttempt(number + 2)])
        }
        _ = machine.attemptSucceeded(5)
        _ = machine.linkLost()
        _ = machine.retryIsDue()
        #expect(machine.attemptFailed(6).contains(.scheduleRetry(after: .seconds(1))))
    }

    @Test func `callers go on waiting during the pauses`() {
        var machine = maintained()
        #expect(machine.connect(7) == [])
        _ = machine.attemptFailed(1)
        #expect(machine.retryIsDue() == [.publish(.connecting), .startAttempt(2)])
        #expect(machine.attemptSucceeded(2) == [.publish(.connected), .succeed([7])])
    }

    @Test func `a caller does not wait for the pause to end`() {
        var machine = maintained()
        _ = machine.attemptFailed(1)
        #expect(machine.connect(7) == [.cancelRetry, .publish(.connecting), .startAttempt(2)])
        #expect(machine.retryIsDue() == [])
    }

    @Test func `a hopeless attempt fails callers without a deadline only if the link is no longer maintained`() {
        var machine = maintained()
        _ = machine.connect(7, isPatient: true)
        _ = machine.connect(8)
        #expect(machine.attemptFailed(1, isHopeless: true).contains(.fail([8], .attempt)))
        #expect(machine.retry() == [.publish(.connecting), .startAttempt(2)])
        _ = machine.attemptFailed(2, isHopeless: true)
        // One more attempt for callers that still wait; after that, none.
        #expect(machine.setPolicy(.manual) == [.limit([7]), .publish(.connecting), .startAttempt(3)])
        #expect(
            machine.attemptFailed(3, isHopeless: true) == [
                .publish(.disconnected), .fail([7], .attempt), .tell(.attemptFailed(retryAfter: nil)),
            ])
        #expect(machine.isIdle)
    }

    @Test func `the patient succeed with the others, and leave like them`() {
        var machine = maintained()
        _ = machine.connect(7, isPatient: true)
        _ = machine.connect(8, isPatient: true)
        _ = machine.attemptFailed(1, isHopeless: true)
        #expect(machine.abandon(8) == [])
        _ = machine.retry()
        #expect(machine.attemptSucceeded(2) == [.publish(.connected), .succeed([7])])
    }

    @Test func `a hopeless attempt fails its callers and is repeated when something has changed`() {
        var machine = maintained()
        _ = machine.connect(7)
        #expect(
            machine.attemptFailed(1, isHopeless: true) == [
                .publish(.disconnected), .fail([7], .attempt), .tell(.attemptFailed(retryAfter: nil)), .tell(.waiting),
            ])
        #expect(machine.retry() == [.publish(.connecting), .startAttempt(2)])
        #expect(machine.retry() == [])
    }

    @Test func `the last caller's giving up does not end the attempt`() {
        var machine = maintained()
        _ = machine.connect(7)
        #expect(machine.abandon(7) == [])
        #expect(machine.state == .connecting)
    }

    @Test func `a disconnect ends the upkeep`() {
        var machine = maintained()
        _ = machine.attemptSucceeded(1)
        #expect(machine.disconnect(8) == [.publish(.disconnecting), .startDisconnect])
        #expect(machine.disconnectFinished() == [.tell(.endedHere), .publish(.disconnected), .succeed([8])])
        #expect(machine.isIdle)
    }

    @Test func `a disconnect during a pause fails the callers`() {
        var machine = maintained()
        _ = machine.connect(7)
        _ = machine.attemptFailed(1)
        #expect(machine.disconnect(8) == [.cancelRetry, .fail([7], .cancelledByDisconnect), .succeed([8])])
        #expect(machine.isIdle)
    }

    @Test func `an upkeep that ends leaves the link, and ends an attempt without callers`() {
        var machine = maintained()
        #expect(machine.setPolicy(.manual) == [.publish(.disconnecting), .cancelAttempt])
        machine = maintained()
        _ = machine.attemptSucceeded(1)
        #expect(machine.setPolicy(.manual) == [])
        #expect(machine.linkLost() == [.tell(.linkEnded), .publish(.disconnected)])
        machine = maintained()
        _ = machine.connect(7)
        #expect(machine.setPolicy(.manual) == [])
        #expect(machine.state == .connecting)
    }

    @Test func `an upkeep that ends during a pause makes one more attempt for its callers`() {
        var machine = maintained()
        _ = machine.connect(7)
        _ = machine.attemptFailed(1)
        #expect(machine.setPolicy(.manual) == [.cancelRetry, .publish(.connecting), .startAttempt(2)])
        #expect(
            machine.attemptFailed(2) == [
                .publish(.disconnected), .fail([7], .attempt), .tell(.attemptFailed(retryAfter: nil)),
            ])
    }

    @Test func `a link that is being ended comes back when it is to be maintained`() {
        var machine = ConnectionMachine()
        _ = machine.connect(1)
        _ = machine.attemptSucceeded(1)
        _ = machine.disconnect(2)
        #expect(machine.setPolicy(.maintained(backoff: backoff)) == [])
        #expect(
            machine.disconnectFinished()
                == [.tell(.endedHere), .publish(.disconnected), .succeed([2]), .publish(.connecting), .startAttempt(2)])
    }

    @Test func `an unused link is released, a maintained one is not`() {
        var machine = ConnectionMachine()
        #expect(machine.release() == [])
        _ = machine.connect(1)
        _ = machine.attemptSucceeded(1)
        #expect(machine.release() == [.publish(.disconnecting), .startDisconnect])
        machine = maintained()
        _ = machine.attemptSucceeded(1)
        #expect(machine.release() == [])
    }
}
