import Testing

@testable import BLE

struct SubscriptionMachineTests {
    private static let strap = Peripheral.ID(rawValue: "strap")
    private let key = CharacteristicKey(characteristic: BluetoothUUID(0x2A37))
    private let attribute = AttributeID(peripheral: Self.strap, handle: 3)
    private let moved = AttributeID(peripheral: Self.strap, handle: 9)

    private func join(
        _ attribute: AttributeID, of machine: inout SubscriptionMachine, _ id: Int = 1,
        delivery: NotificationDelivery = .standard
    ) -> (id: SubscriptionMachine.ID, fanout: NotificationFanout) {
        machine.join(attribute, key: key, delivery: delivery, newID: id)
    }

    private func add(_ token: Int, to fanout: NotificationFanout) -> BoundedStream<NotificationPacket> {
        let (stream, producer) = BoundedStream.make(of: NotificationPacket.self, policy: .dropOldest(capacity: 4)) {}
        fanout.add(token, producer)
        return stream
    }

    @Test func `readers of an attribute share one subscription, which starts once`() {
        var machine = SubscriptionMachine()
        let first = join(attribute, of: &machine, 1)
        let second = join(attribute, of: &machine, 2, delivery: .socket)
        #expect(first.id == second.id)
        #expect(first.fanout === second.fanout)
        #expect(!machine.isEmpty)
        #expect(!machine.isOn(attribute))
        let start = machine.start(first.id)
        #expect(start?.attribute == attribute)
        #expect(start?.usesSocket == false)
        #expect(machine.isOn(attribute))
        let again = machine.start(second.id)
        #expect(again == nil)
    }

    @Test func `a start that failed can be repeated`() {
        var machine = SubscriptionMachine()
        let id = join(attribute, of: &machine, 1).id
        _ = machine.start(id)
        // A failure at another attribute is of a link that has ended.
        machine.startFailed(id, at: moved)
        #expect(machine.isOn(attribute))
        machine.startFailed(id, at: attribute)
        #expect(!machine.isOn(attribute))
        #expect(machine.start(id) != nil)
    }

    @Test func `a subscription ends with its last reader`() {
        var machine = SubscriptionMachine()
        let (id, fanout) = join(attribute, of: &machine, 1)
        let stream = add(1, to: fanout)
        _ = machine.start(id)
        #expect(machine.unread(id) == nil)
        #expect(machine.stopIfUnread(id, at: attribute) == false)
        #expect(machine.isOn(attribute))
        fanout.remove(1)
        #expect(machine.unread(id) == attribute)
        #expect(machine.stopIfUnread(id, at: moved) == false)
        #expect(machine.stopIfUnread(id, at: attribute) == true)
        #expect(machine.stopIfUnread(id, at: attribute) == false)
        #expect(machine.isEmpty)
        let next = join(attribute, of: &machine, 2).id
        #expect(next != id)
        _ = stream
    }

    @Test func `nothing is stopped that was not started`() {
        var machine = SubscriptionMachine()
        let id = join(attribute, of: &machine, 1).id
        #expect(machine.stopIfUnread(id, at: attribute) == false)
        #expect(machine.attribute(of: id) == nil)
    }

    @Test func `an interrupted subscription is restored where its key is found`() {
        var machine = SubscriptionMachine()
        let (id, fanout) = join(attribute, of: &machine, 1, delivery: .socket)
        let stream = add(1, to: fanout)
        _ = machine.start(id)
        let interrupted = machine.interrupt()
        #expect(interrupted.map { $0 === fanout } == [true])
        // A gap is reported once.
        let again = machine.interrupt()
        #expect(again.isEmpty)
        #expect(machine.interrupted.map(\.id) == [id])
        let collided = machine.move([(id, moved)])
        #expect(collided.isEmpty)
        #expect(machine.attribute(of: id) == moved)
        let start = machine.start(id)
        #expect(start?.attribute == moved)
        #expect(machine.interrupted.isEmpty)
        #expect(!machine.isOn(attribute))
        #expect(machine.isOn(moved))
        _ = stream
    }

    @Test func `a subscription without readers does not survive a gap`() {
        var machine = SubscriptionMachine()
        let id = join(attribute, of: &machine, 1).id
        _ = machine.start(id)
        let interrupted = machine.interrupt()
        #expect(interrupted.isEmpty)
        #expect(machine.attribute(of: id) == nil)
        #expect(machine.isEmpty)
    }

    @Test func `subscriptions swap their attributes, and one that has no place is named`() {
        var machine = SubscriptionMachine()
        let first = join(attribute, of: &machine, 1).id
        let second = join(moved, of: &machine, 2).id
        let swapped = machine.move([(first, moved), (second, attribute)])
        #expect(swapped.isEmpty)
        #expect(machine.attribute(of: first) == moved)
        #expect(machine.attribute(of: second) == attribute)
        let collided = machine.move([(first, attribute)])
        #expect(collided == [first])
        // Its end leaves the other's place alone.
        _ = machine.end(first)
        let (id, _) = join(attribute, of: &machine, 3)
        #expect(id == second)
    }

    @Test func `a lost channel is replaced by the standard way until the next link`() {
        var machine = SubscriptionMachine()
        let (id, fanout) = join(attribute, of: &machine, 1, delivery: .socket)
        let stream = add(1, to: fanout)
        let result7 = machine.notificationsEnded(of: attribute)
        #expect(result7 == nil)
        _ = machine.start(id)
        let result8 = machine.notificationsEnded(of: attribute)
        #expect(result8?.id == id)
        let result9 = machine.start(id)
        #expect(result9?.usesSocket == false)
        _ = machine.interrupt()
        let second0 = machine.start(id)
        #expect(second0?.usesSocket == true)
        _ = stream
    }

    @Test func `a subscription that cannot be restored ends after three links`() {
        var machine = SubscriptionMachine()
        let id = join(attribute, of: &machine, 1).id
        for _ in 1...3 { #expect(machine.mayRestoreLater(id) == true) }
        #expect(machine.mayRestoreLater(id) == false)
        machine.restored(id)
        #expect(machine.mayRestoreLater(id) == true)
    }

    @Test func `the end of all subscriptions says which were on`() {
        var machine = SubscriptionMachine()
        let id = join(attribute, of: &machine, 1).id
        _ = join(moved, of: &machine, 2)
        _ = machine.start(id)
        let ended = machine.endAll()
        #expect(ended.count == 2)
        #expect(ended.filter(\.wasOn).map(\.attribute) == [attribute])
        #expect(machine.end(id) == nil)
        #expect(machine.isEmpty)
    }
}
