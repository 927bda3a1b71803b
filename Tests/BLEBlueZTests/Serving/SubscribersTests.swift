import BLE
import Testing

@testable import BLEBlueZ

/// Which way a value goes to those who have subscribed.
final class SubscribersTests {
    private final class Socket: Sendable {}

    private static let attribute = ServedAttribute(application: 1, service: 0, characteristic: 0)
    private static let first = Peripheral.ID(rawValue: "C0:00:00:00:0A:01")
    private static let second = Peripheral.ID(rawValue: "C0:00:00:00:0A:02")

    private var subscribers = Subscribers<Socket>()
    private let sockets = [Socket(), Socket()]

    init() {
        _ = subscribers.subscribe(Self.first, to: Self.attribute, sockets[0])
        _ = subscribers.subscribe(Self.second, to: Self.attribute, sockets[1])
    }

    /// The way in words, or the number of sockets.
    private func route(_ central: Peripheral.ID?) -> String {
        switch subscribers.route(Self.attribute, to: central) {
        case .sockets(let sockets): "\(sockets.count)"
        case .signal: "signal"
        case .nobody: "nobody"
        case .undecided: "undecided"
        case .unreachable: "unreachable"
        }
    }

    private func subscribe(_ central: Peripheral.ID, _ socket: Socket) -> Socket? {
        subscribers.subscribe(central, to: Self.attribute, socket)
    }

    private func close(_ socket: Socket, of central: Peripheral.ID) -> Bool {
        subscribers.socketEnded(socket, of: central, Self.attribute)
    }

    private func decide(_ central: Peripheral.ID) -> Bool { subscribers.decide(central, of: Self.attribute) }
    private func begin(_ central: Peripheral.ID) -> [ServedAttribute] { subscribers.linkBegan(central) }

    private func end(_ central: Peripheral.ID, isBonded: Bool) -> Int {
        subscribers.linkEnded(central, isBonded: isBonded).count
    }

    private func remove(_ application: Int) -> Int {
        subscribers.removeAll { $0.application == application }.count
    }

    @Test func `a value goes over the sockets of those that it is for`() {
        #expect(route(nil) == "2")
        #expect(route(Self.first) == "1")
        #expect(route(Peripheral.ID(rawValue: "C0:00:00:00:0A:03")) == "nobody")
    }

    @Test func `subscribers that are not told apart are reached by a signal`() {
        subscribers.setUnnamed(true, of: Self.attribute)
        #expect(route(nil) == "signal")
        #expect(route(Self.first) == "1")
        subscribers.setUnnamed(false, of: Self.attribute)
        #expect(route(nil) == "2")
    }

    @Test func `a closed socket means that its central has unsubscribed`() {
        #expect(close(sockets[0], of: Self.first))
        #expect(route(Self.first) == "undecided")
        #expect(route(nil) == "signal")
        #expect(decide(Self.first))
        #expect(route(Self.first) == "nobody")
        #expect(route(nil) == "1")
        // Only once.
        #expect(!decide(Self.first))
    }

    @Test(arguments: [false, true])
    func `a socket that is closed at the end of another's link leaves a subscriber without one`(
        _ isLinkFirst: Bool
    ) {
        if isLinkFirst {
            _ = subscribers.linkEnded(Self.second, isBonded: false)
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
        #expect(route(nil) == "signal")
        _ = subscribers.subscribe(Self.second, to: Self.attribute, Socket())
        #expect(route(Self.first) == "unreachable")
        #expect(route(Self.second) == "1")
        // A later closing has another reason.
        subscribers.departureIsOver(Self.attribute)
        let again = Socket()
        #expect(subscribe(Self.first, again) == nil)
        #expect(close(again, of: Self.first))
    }

    @Test func `a central with a bond is subscribed on its next link, without a socket`() {
        #expect(end(Self.first, isBonded: true) == 1)
        #expect(route(Self.first) == "nobody")
        #expect(route(nil) == "1")
        // bluetoothd closes no other socket then.
        #expect(close(sockets[1], of: Self.second))
        #expect(decide(Self.second))
        #expect(begin(Self.first) == [Self.attribute])
        #expect(begin(Self.first).isEmpty)
        #expect(route(Self.first) == "signal")
        // Until bluetoothd forgets it.
        _ = subscribers.linkEnded(Self.first, isBonded: true)
        subscribers.forget(Self.first)
        #expect(begin(Self.first).isEmpty)
    }

    @Test func `the end of an old socket means nothing`() {
        let newer = Socket()
        #expect(subscribe(Self.first, newer) === sockets[0])
        #expect(!close(sockets[0], of: Self.first))
        #expect(route(Self.first) == "1")
    }

    @Test func `everything of an application is removed`() {
        subscribers.setUnnamed(true, of: Self.attribute)
        #expect(remove(2) == 0)
        #expect(remove(1) == 2)
        #expect(route(nil) == "signal")
        #expect(route(Self.first) == "nobody")
    }
}
