import Testing

@testable import BLE

@Suite struct ConnectionMachineTests {
    enum Event: CaseIterable {
        case connect, abandon, succeeded, failed, staleSucceeded, staleFailed, linkLost, disconnect, finished
    }

    /// A machine in that state. Waiter 1 wants the link, if the state has such a waiter; waiter 2 wants it ended.
    private static func machine(_ state: ConnectionState) -> ConnectionMachine {
        var machine = ConnectionMachine()
        if state == .disconnected { return machine }
        _ = machine.connect(1)
        if state == .connecting { return machine }
        _ = machine.attemptSucceeded(1)
        if state == .connected { return machine }
        _ = machine.disconnect(2)
        return machine
    }

    private static func apply(_ event: Event, to machine: inout ConnectionMachine) -> [ConnectionMachine.Action] {
        switch event {
        case .connect: machine.connect(3)
        case .abandon: machine.abandon(1)
        case .succeeded: machine.attemptSucceeded(machine.attempt)
        case .failed: machine.attemptFailed(machine.attempt)
        case .staleSucceeded: machine.attemptSucceeded(machine.attempt - 1)
        case .staleFailed: machine.attemptFailed(machine.attempt - 1)
        case .linkLost: machine.linkLost()
        case .disconnect: machine.disconnect(3)
        case .finished: machine.disconnectFinished()
        }
    }

    /// The effects of events in each state; events that are not listed have no effect.
    private static let table:
        [ConnectionState: [Event: (state: ConnectionState, actions: [ConnectionMachine.Action])]] = [
            .disconnected: [
                .connect: (.connecting, [.publish(.connecting), .startAttempt(1)]),
                .disconnect: (.disconnected, [.succeed([3])]),
            ],
            .connecting: [
                .connect: (.connecting, []),
                .abandon: (.disconnecting, [.publish(.disconnecting), .cancelAttempt]),
                .succeeded: (.connected, [.publish(.connected), .succeed([1])]),
                .failed: (
                    .disconnected,
                    [.publish(.disconnected), .fail([1], .attempt), .tell(.attemptFailed(retryAfter: nil))]
                ),
                .disconnect: (
                    .disconnecting, [.fail([1], .cancelledByDisconnect), .publish(.disconnecting), .cancelAttempt]
                ),
            ],
            .connected: [
                .connect: (.connected, [.succeed([3])]),
                .linkLost: (.disconnected, [.tell(.linkEnded), .publish(.disconnected)]),
                .disconnect: (.disconnecting, [.publish(.disconnecting), .startDisconnect]),
            ],
            .disconnecting: [
                .connect: (.disconnecting, []),
                .disconnect: (.disconnecting, []),
                .finished: (.disconnected, [.tell(.endedHere), .publish(.disconnected), .succeed([2])]),
            ],
        ]

    @Test(arguments: [ConnectionState.disconnected, .connecting, .connected, .disconnecting], Event.allCases)
    func `every event in every state does what the table says`(_ state: ConnectionState, _ event: Event) {
        var machine = Self.machine(state)
        #expect(machine.state == state)
        let actions = Self.apply(event, to: &machine)
        let expected = Self.table[state]?[event] ?? (state, [])
        #expect(machine.state == expected.state)
        #expect(actions == expected.actions)
    }

    @Test func `any number of callers share one attempt`() {
        var machine = ConnectionMachine()
        #expect(machine.connect(1) == [.publish(.connecting), .startAttempt(1)])
        #expect(machine.connect(2) == [])
        #expect(machine.connect(3) == [])
        #expect(machine.attemptSucceeded(1) == [.publish(.connected), .succeed([1, 2, 3])])
        #expect(machine.isIdle == false)
    }

    @Test func `a failed attempt fails all callers, and the next call starts another`() {
        var machine = ConnectionMachine()
        _ = machine.connect(1)
        _ = machine.connect(2)
        #expect(
            machine.attemptFailed(1) == [
                .publish(.disconnected), .fail([1, 2], .attempt), .tell(.attemptFailed(retryAfter: nil)),
            ])
        #expect(machine.isIdle)
        #expect(machine.connect(3) == [.publish(.connecting), .startAttempt(2)])
    }

    @Test func `one that gives up leaves the attempt to the others`() {
        var machine = ConnectionMachine()
        for waiter in 1...3 { _ = machine.connect(waiter) }
        #expect(machine.abandon(1) == [])
        #expect(machine.abandon(3) == [])
        #expect(machine.abandon(3) == [])
        #expect(machine.attemptSucceeded(1) == [.publish(.connected), .succeed([2])])
    }

    @Test func `the last that gives up ends the attempt`() {
        var machine = ConnectionMachine()
        _ = machine.connect(1)
        _ = machine.connect(2)
        _ = machine.abandon(1)
        #expect(machine.abandon(2) == [.publish(.disconnecting), .cancelAttempt])
        #expect(machine.attemptSucceeded(1) == [])
        // There was no link, so none can have ended.
        #expect(
            machine.disconnectFinished() == [
                .tell(.attemptFailed(retryAfter: nil)), .publish(.disconnected), .succeed([]),
            ])
        #expect(machine.isIdle)
    }

    @Test func `giving up a link that is there does nothing`() {
        var machine = Self.machine(.connected)
        #expect(machine.abandon(1) == [])
        #expect(machine.state == .connected)
    }

    @Test func `a disconnect ends the attempt and fails its callers`() {
        var machine = ConnectionMachine()
        _ = machine.connect(1)
        _ = machine.connect(2)
        #expect(
            machine.disconnect(3) == [
                .fail([1, 2], .cancelledByDisconnect), .publish(.disconnecting), .cancelAttempt,
            ])
        #expect(machine.attemptFailed(1) == [])
        #expect(
            machine.disconnectFinished() == [
                .tell(.attemptFailed(retryAfter: nil)), .publish(.disconnected), .succeed([3]),
            ])
    }

    @Test func `the end of a link that could not be ended is reported when it comes`() {
        var machine = Self.machine(.disconnecting)
        #expect(
            machine.disconnectFinished(hasFailed: true) == [
                .tell(.disconnectFailed), .publish(.disconnected), .fail([2], .disconnect),
            ])
        #expect(machine.linkLost() == [.tell(.linkEnded)])
        #expect(machine.linkLost() == [])
        // No link is left to be ended.
        #expect(machine.disconnect(3) == [.succeed([3])])
    }

    @Test func `a link that is made after one that could not be ended ends once`() {
        var machine = Self.machine(.disconnecting)
        _ = machine.disconnectFinished(hasFailed: true)
        _ = machine.connect(3)
        _ = machine.attemptSucceeded(machine.attempt)
        #expect(machine.linkLost() == [.tell(.linkEnded), .publish(.disconnected)])
        #expect(machine.disconnect(4) == [.succeed([4])])
    }

    @Test func `an attempt after a link that could not be ended leaves nothing to be ended`() {
        var machine = Self.machine(.disconnecting)
        _ = machine.disconnectFinished(hasFailed: true)
        _ = machine.connect(3)
        _ = machine.attemptFailed(machine.attempt)
        #expect(!machine.mayBeUp)
        #expect(machine.disconnect(4) == [.succeed([4])])
    }

    @Test func `an attempt whose link could not be ended leaves that to a disconnect`() {
        var machine = Self.machine(.connecting)
        _ = machine.attemptFailed(machine.attempt, mayBeUp: true)
        #expect(machine.mayBeUp)
        #expect(machine.disconnect(4) == [.publish(.disconnecting), .startDisconnect])
    }

    @Test func `a link that ends by itself during a disconnect that fails is down`() {
        var machine = Self.machine(.disconnecting)
        #expect(machine.linkLost() == [])
        #expect(
            machine.disconnectFinished(hasFailed: true) == [
                .tell(.endedHere), .publish(.disconnected), .succeed([2]),
            ])
        #expect(!machine.mayBeUp)
    }

    @Test func `a connect during a disconnect waits for it and then starts`() {
        var machine = Self.machine(.disconnecting)
        #expect(machine.connect(5) == [])
        #expect(!machine.isIdle)
        #expect(
            machine.disconnectFinished() == [
                .tell(.endedHere), .publish(.disconnected), .succeed([2]), .publish(.connecting), .startAttempt(2),
            ])
        #expect(machine.attemptSucceeded(2) == [.publish(.connected), .succeed([5])])
    }

    @Test func `a connect that gives up during a disconnect starts nothing`() {
        var machine = Self.machine(.disconnecting)
        _ = machine.connect(5)
        #expect(machine.abandon(5) == [])
        #expect(machine.disconnectFinished() == [.tell(.endedHere), .publish(.disconnected), .succeed([2])])
        #expect(machine.isIdle)
    }

    @Test func `every call of disconnect returns when it is done`() {
        var machine = Self.machine(.disconnecting)
        #expect(machine.disconnect(3) == [])
        #expect(machine.disconnectFinished() == [.tell(.endedHere), .publish(.disconnected), .succeed([2, 3])])
    }

    @Test func `an attempt of the past decides nothing`() {
        var machine = ConnectionMachine()
        _ = machine.connect(1)
        _ = machine.abandon(1)
        _ = machine.connect(2)
        _ = machine.disconnectFinished()
        #expect(machine.attempt == 2)
        #expect(machine.attemptSucceeded(1) == [])
        #expect(machine.attemptFailed(1) == [])
        #expect(machine.state == .connecting)
        #expect(machine.attemptSucceeded(2) == [.publish(.connected), .succeed([2])])
    }
}
