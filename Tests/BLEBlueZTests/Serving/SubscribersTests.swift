import BLE
import Testing

@testable import BLEBlueZ

/// The way on which a value reaches its subscribers.
final class SubscribersTests {
    private final class Socket: Sendable {}

    private static let attribute = ServedAttribute(application: 1, service: 0, characteristic: 0)
    private static let first = Peripheral.ID(rawValue: "C0:00:00:00:0A:01")
    private static let second = Peripheral.ID(rawValue: "C0:00:00:00:0A:02")

    private var subscribers = Subscribers<Socket>()
    private let sockets = [Socket(), Socket()]
    private var number: Int?

    init() {
        _ = subscribers.subscribe(Self.first, to: Self.attribute, sockets[0])
        _ = subscribers.subscribe(Self.second, to: Self.attribute, sockets[1])
    }

    /// The way in a word.
    private func route(_ central: Peripheral.ID) -> String {
        switch subscribers.route(Self.attribute, to: central) {
        case .socket: "socket"
        case .signal: "signal"
        case .nobody: "nobody"
        case .undecided: "undecided"
        case .unreachable: "unreachable"
        }
    }

    private func subscribe(_ central: Peripheral.ID, _ socket: Socket) -> Socket? {
        subscribers.subscribe(central, to: Self.attribute, socket)
    }

    /// Returns whether a decision is needed.
    private func close(_ socket: Socket, of central: Peripheral.ID) -> Bool {
        number = subscribers.socketEnded(socket, of: central, Self.attribute)
        return number != nil
    }

    private func decide(_ central: Peripheral.ID) -> Bool {
        subscribers.decide(central, of: Self.attribute, number: number ?? 0)
    }

    private func begin(_ central: Peripheral.ID) -> [ServedAttribute] { subscribers.linkBegan(central) }

    private func end(_ central: Peripheral.ID, isBonded: Bool) -> Int {
        subscribers.linkEnded(central, isBonded: isBonded).count
    }

    private func remove(_ application: Int) -> Int {
        subscribers.removeAll { $0.application == application }.count
    }

    private func removeSignaled() -> [Peripheral.ID] { subscribers.removeSignaled(Self.attribute) }

    @Test func `a value goes over the socket of the one that it is for`() {
        #expect(route(Self.first) == "socket")
        #expect(route(Peripheral.ID(rawValue: "C0:00:00:00:0A:03")) == "nobody")
        #expect(subscribers.sockets(Self.attribute).count == 2)
    }

    @Test func `a closed socket means that its central has unsubscribed`() {
        #expect(close(sockets[0], of: Self.first))
        #expect(route(Self.first) == "undecided")
        #expect(decide(Self.first))
        #expect(route(Self.first) == "nobody")
        // Only once.
        #expect(!decide(Self.first))
        #expect(route(Self.second) == "socket")
    }

    @Test func `a decision about an earlier subscription says nothing about the next`() {
        #expect(close(sockets[0], of: Self.first))
        let earlier = number
        let again = Socket()
        #expect(subscribe(Self.first, again) == nil)
        #expect(close(again, of: Self.first))
        number = earlier
        #expect(!decide(Self.first))
        #expect(route(Self.first) == "undecided")
    }

    @Test(arguments: [false, true])
    func `the oldest subscriber loses its socket at the end of another's link`(_ isLinkFirst: Bool) {
        if isLinkFirst {
            #expect(end(Self.second, isBonded: false) == 1)
            #expect(!close(sockets[0], of: Self.first))
        } else {
            #expect(close(sockets[0], of: Self.first))
            let ended = subscribers.linkEnded(Self.second, isBonded: false)
            #expect(ended.map(\.attribute) == [Self.attribute])
            #expect(ended.first?.socket === sockets[1])
        }
        #expect(!decide(Self.first))
        // It is the only one, so that a signal reaches it alone.
        #expect(route(Self.first) == "signal")
        #expect(subscribe(Self.second, Socket()) == nil)
        #expect(route(Self.first) == "unreachable")
        #expect(route(Self.second) == "socket")
        // A later closing has another reason.
        subscribers.departureIsOver(Self.attribute)
        let again = Socket()
        #expect(subscribe(Self.first, again) == nil)
        #expect(close(again, of: Self.first))
    }

    @Test func `only the oldest subscriber loses its socket`() {
        // The subscriber that leaves is the oldest itself.
        #expect(end(Self.first, isBonded: false) == 1)
        #expect(close(sockets[1], of: Self.second))
        #expect(decide(Self.second))
        // Of those that are left, the first is the oldest.
        let newer = [Socket(), Socket()]
        #expect(subscribe(Self.first, newer[0]) == nil)
        #expect(subscribe(Self.second, newer[1]) == nil)
        let third = Peripheral.ID(rawValue: "C0:00:00:00:0A:03")
        #expect(subscribe(third, Socket()) == nil)
        #expect(end(third, isBonded: false) == 1)
        #expect(close(newer[1], of: Self.second))
        #expect(decide(Self.second))
        #expect(!close(newer[0], of: Self.first))
        #expect(route(Self.first) == "signal")
    }

    @Test func `a central with a bond is subscribed on its next link, without a socket`() {
        #expect(end(Self.first, isBonded: true) == 1)
        #expect(route(Self.first) == "nobody")
        // bluetoothd closes no other socket then.
        #expect(close(sockets[1], of: Self.second))
        #expect(decide(Self.second))
        #expect(begin(Self.first) == [Self.attribute])
        #expect(begin(Self.first).isEmpty)
        #expect(route(Self.first) == "signal")
        // Until bluetoothd forgets it.
        #expect(end(Self.first, isBonded: true) == 1)
        subscribers.forget(Self.first)
        #expect(begin(Self.first).isEmpty)
    }

    @Test func `centrals without a socket are not subscribed after StopNotify`() {
        #expect(end(Self.first, isBonded: true) == 1)
        #expect(begin(Self.first) == [Self.attribute])
        #expect(removeSignaled() == [Self.first])
        #expect(route(Self.first) == "nobody")
        #expect(route(Self.second) == "socket")
    }

    @Test func `the end of an old socket means nothing`() {
        let newer = Socket()
        #expect(subscribe(Self.first, newer) === sockets[0])
        #expect(!close(sockets[0], of: Self.first))
        #expect(route(Self.first) == "socket")
    }

    @Test func `everything of an application is removed`() {
        #expect(remove(2) == 0)
        #expect(remove(1) == 2)
        #expect(route(Self.first) == "nobody")
    }
}
