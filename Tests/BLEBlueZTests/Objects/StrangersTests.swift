import BLE
import Testing
import Waiting

@testable import BLEBlueZ

/// Devices that only the kernel has heard.
@Suite struct StrangersTests {
    private let address: UInt64 = 0xF0F1_F2F3_F4F5
    private let id = Peripheral.ID(rawValue: "F0:F1:F2:F3:F4:F5")
    private let path = "/org/bluez/hci0/dev_F0_F1_F2_F3_F4_F5"

    private func received(
        _ address: UInt64? = nil, isRandom: Bool = true, rssi: Int8 = -60, data: [UInt8] = [2, 1, 6]
    ) -> ReceivedAdvertisement {
        ReceivedAdvertisement(
            adapter: 0, sender: ReceivedAdvertisement.Sender(address: address ?? self.address, isRandom: isRandom),
            rssi: rssi, data: data[...])
    }

    private func properties(_ rssi: Int? = nil) -> InterfaceProperties {
        .device(DeviceProperties(address: id, adapter: "/org/bluez/hci0", rssi: rssi, addressType: .random))
    }

    /// Applies an advertisement, as the stack does.
    private func hear(
        _ received: ReceivedAdvertisement, _ tree: inout ObjectTree
    ) -> (id: Peripheral.ID, advertisement: Advertisement)? {
        tree.receive(received) ?? tree.receiveStranger(received)
    }

    @Test func `an advertisement without an object has id, type, strength and data`() {
        var tree = ObjectTree()
        let heard = hear(received(rssi: -71), &tree)
        #expect(heard?.id == id)
        #expect(heard?.advertisement.addressType == .random)
        #expect(heard?.advertisement.rssi == -71)
        #expect(heard?.advertisement.flags?.rawValue == 6)
        #expect(tree.isStranger(id, adapter: "/org/bluez/hci0"))
        #expect(tree.device(id, adapter: "/org/bluez/hci0") == nil)
        #expect(tree.peripherals(onAdapter: "/org/bluez/hci0").isEmpty)
    }

    @Test func `what another packet lacks is kept`() {
        var tree = ObjectTree()
        _ = hear(received(data: [2, 1, 6, 2, 9, 65]), &tree)
        let heard = hear(received(data: [2, 1, 6]), &tree)
        #expect(heard?.advertisement.localName == "A")
        #expect(heard?.advertisement.structures.count == 1)
    }

    @Test func `an object takes the place, and the kernel's advertisements are added to it`() {
        var tree = ObjectTree()
        _ = hear(received(), &tree)
        _ = tree.add(path, properties())
        #expect(!tree.isStranger(id, adapter: "/org/bluez/hci0"))
        #expect(tree.receive(received(rssi: -50))?.advertisement.rssi == -50)
        #expect(!tree.isStranger(id, adapter: "/org/bluez/hci0"))
    }

    @Test func `a device that loses its object is kept if the kernel has heard it last`() {
        var tree = ObjectTree()
        _ = tree.add(path, properties())
        _ = hear(received(data: [2, 1, 6, 2, 9, 65]), &tree)
        _ = tree.remove(path, interfaces: [BlueZ.device])
        #expect(tree.isStranger(id, adapter: "/org/bluez/hci0"))
        #expect(hear(received(data: [2, 1, 6]), &tree)?.advertisement.localName == "A")
        _ = tree.add(path, properties())
        tree.endReception()
        // One that only bluetoothd has heard is gone.
        _ = tree.add(path, properties(-50))
        _ = tree.remove(path, interfaces: [BlueZ.device])
        #expect(!tree.isStranger(id, adapter: "/org/bluez/hci0"))
    }

    @Test func `a public and a random address with the same bits are two senders`() {
        var strangers = Strangers()
        _ = strangers.receive(received(data: [2, 9, 65]))
        let other = strangers.receive(received(isRandom: false, data: [2, 9, 66]))
        #expect(other?.advertisement.localName == "B")
        #expect(other?.advertisement.addressType == .public)
        #expect(strangers.receive(received())?.advertisement.localName == "A")
        #expect(strangers.count == 2)
        strangers.remove(address)
        #expect(strangers.count == 0)
    }

    @Test func `a sender with the bits of a known device, and the other type, is not taken for it`() {
        var tree = ObjectTree()
        _ = tree.add(path, properties())
        #expect(hear(received(isRandom: false, data: [2, 9, 66]), &tree) == nil)
        #expect(tree.devices[path]?.advertisement.localName == nil)
        #expect(hear(received(data: [2, 9, 65]), &tree)?.advertisement.localName == "A")
    }

    @Test func `what another adapter has heard is forgotten, unless it is heard again`() {
        var tree = ObjectTree()
        for number in 1...3 as ClosedRange<UInt64> { _ = hear(received(number), &tree) }
        let other = ReceivedAdvertisement(
            adapter: 1, sender: ReceivedAdvertisement.Sender(address: 2, isRandom: true), rssi: -50, data: [])
        _ = hear(other, &tree)
        #expect(tree.strangerIDs == [DeviceID(address: 2)])
        #expect(tree.isStranger(DeviceID(address: 2), adapter: "/org/bluez/hci1"))
        #expect(!tree.isStranger(DeviceID(address: 2), adapter: "/org/bluez/hci0"))
        let forgotten = tree.takeForgotten(adapter: "/org/bluez/hci1")
        #expect(Set(forgotten) == [DeviceID(address: 1), DeviceID(address: 3)])
    }

    @Test func `a device that loses its object has the address that it has now`() {
        var tree = ObjectTree()
        _ = tree.add(path, properties())
        let identity: DeviceID = "C0:FF:EE:00:00:01"
        _ = tree.update(path, .device(DeviceProperties(address: identity)))
        let sender = ReceivedAdvertisement.Sender(address: 0xC0FF_EE00_0001, isRandom: true)
        let later = ReceivedAdvertisement(adapter: 0, sender: sender, rssi: -50, data: [2, 9, 65])
        #expect(hear(later, &tree)?.id == id)
        _ = tree.remove(path, interfaces: [BlueZ.device])
        #expect(tree.isStranger(identity, adapter: "/org/bluez/hci0"))
        #expect(hear(later, &tree)?.id == identity)
    }

    @Test func `of too many, those that were heard last are kept, and the others are told once`() {
        var strangers = Strangers(capacity: 8)
        for number in 0..<8 as Range<UInt64> { _ = strangers.receive(received(number)) }
        #expect(strangers.count == 8)
        #expect(strangers.takeForgotten() == [])
        // Number 3 is heard again, and outlasts the others of its time.
        _ = strangers.receive(received(3))
        #expect(strangers.count <= 8)
        #expect(Set(strangers.takeForgotten()) == Set(([0, 1, 2] as [UInt64]).map { DeviceID(address: $0) }))
        #expect(strangers.takeForgotten() == [])
        #expect(strangers.contains(3, adapter: 0))
        for number in 100..<100_000 as Range<UInt64> { _ = strangers.receive(received(number)) }
        #expect(strangers.count <= 8)
        #expect(strangers.takeForgotten().count == 99_900 + 5 - strangers.count)
    }
}
