import BLE
import Testing
import Waiting

@testable import BLEBlueZ

@Suite struct ObjectTreeTests {
    private static let adapter = "/org/bluez/hci10"
    private static let address = "F0:F1:F2:F3:F4:F5"
    private static let id = DeviceID(rawValue: address)
    private static let path = "/org/bluez/hci10/dev_F0_F1_F2_F3_F4_F5"

    private func tree(_ change: (inout DeviceProperties) -> Void = { _ in }) -> ObjectTree {
        var tree = ObjectTree()
        var properties = DeviceProperties(address: Self.id, adapter: Self.adapter, name: "Strap")
        change(&properties)
        _ = tree.add(Self.path, .device(properties))
        return tree
    }

    // MARK: Adapters

    @Test func `an adapter that is removed takes its devices with it`() {
        var tree = tree { $0.isConnected = true }
        _ = tree.add(Self.adapter, .adapter(AdapterProperties(isPowered: true)))
        let elsewhere = "/org/bluez/hci1/dev_F0_F1_F2_F3_F4_F5"
        _ = tree.add(elsewhere, .device(DeviceProperties(address: Self.id, adapter: "/org/bluez/hci1")))
        #expect(
            tree.remove(Self.adapter, interfaces: [BlueZ.adapter]) == [
                .disconnected(Self.path, address: Self.address, nil), .device(Self.path),
                .removed(Self.path, address: Self.address), .adapter(Self.adapter),
            ])
        #expect(tree.devices.paths { _ in true } == [elsewhere])
        // bluetoothd may report this, too.
        #expect(tree.remove(Self.path, interfaces: [BlueZ.device]) == [])
    }

    // MARK: Advertisements

    @Test func `a device that is only remembered is not discovered`() {
        var tree = ObjectTree()
        let remembered = DeviceProperties(address: Self.id, adapter: Self.adapter, name: "Strap")
        #expect(tree.add(Self.path, .device(remembered)) == [])
        #expect(tree.add(Self.path, .device(DeviceProperties(uuids: [BluetoothUUID(0x180D)]))) == [])
    }

    @Test func `every packet is reported, also one without new data`() {
        var tree = tree()
        for _ in 0..<2 {
            #expect(
                tree.add(Self.path, .device(DeviceProperties(rssi: -50, isAdvertisement: true))) == [
                    .heard(Self.path)
                ])
        }
    }

    @Test func `an advertisement from the kernel is applied again after one from bluetoothd`() {
        var tree = tree { $0.rssi = -60 }
        let data: [UInt8] = [4, 0xFF, 0x59, 0, 1]
        let received = ReceivedAdvertisement(adapter: 10, sender: Self.sender, rssi: -50, data: data[...])
        for _ in 0..<2 {
            let heard = tree.receive(received)
            #expect(heard?.id.rawValue == Self.address)
            #expect(heard?.advertisement.rssi == -50)
            #expect(heard?.advertisement.manufacturerData == [0x59: [1]])
            #expect(heard?.advertisement.localName == "Strap")
            let other = DeviceProperties(manufacturerData: [0x59: [2]], isAdvertisement: true)
            #expect(tree.add(Self.path, .device(other)) == [.heard(Self.path)])
            #expect(tree.devices[Self.path]?.advertisement.manufacturerData == [0x59: [2]])
        }
        #expect(tree.receive(self.received(0xF0F1_F2F3_F4F6)) == nil)
        #expect(tree.receive(ReceivedAdvertisement(adapter: 1, sender: Self.sender, rssi: -50, data: [])) == nil)
    }

    private static let sender = ReceivedAdvertisement.Sender(address: 0xF0F1_F2F3_F4F5, isRandom: true)

    private func received(
        _ address: UInt64 = sender.address, isRandom: Bool = true, rssi: Int8 = -50
    ) -> ReceivedAdvertisement {
        ReceivedAdvertisement(
            adapter: 10, sender: ReceivedAdvertisement.Sender(address: address, isRandom: isRandom), rssi: rssi,
            data: [2, 1, 6])
    }

    @Test func `an advertisement counts only for the device with its address, and the type of that`() {
        var tree = tree { $0.addressType = .public }
        #expect(tree.receive(received()) == nil)
        #expect(tree.receive(received(0xF0F1_F2F3_F4F6, isRandom: false)) == nil)
        #expect(tree.devices[Self.path]?.advertisement.rssi == nil)
        #expect(tree.receive(received(isRandom: false))?.advertisement.rssi == -50)
        // The object is removed, and its path is that of another device.
        _ = tree.remove(Self.path, interfaces: [BlueZ.device])
        #expect(tree.receive(received(isRandom: false)) == nil)
        let other = DeviceProperties(address: Self.id, adapter: Self.adapter, addressType: .random)
        _ = tree.add(Self.path, .device(other))
        #expect(tree.receive(received(isRandom: false)) == nil)
        #expect(tree.receive(received())?.advertisement.rssi == -50)
    }

    @Test func `a device whose identity is revealed is the sender with either address`() {
        var tree = tree { $0.addressType = .random }
        #expect(tree.receive(received()) != nil)
        let identity = DeviceProperties(address: "C0:FF:EE:00:00:01", addressType: .public)
        _ = tree.update(Self.path, .device(identity))
        #expect(tree.receive(received(0xC0FF_EE00_0001, isRandom: false)) != nil)
        #expect(tree.receive(received(0xC0FF_EE00_0001)) == nil)
        #expect(tree.receive(received()) != nil)
        #expect(tree.receive(received(isRandom: false)) == nil)
        #expect(tree.device(address: "C0:FF:EE:00:00:01", adapter: Self.adapter) == Self.path)
        // Another device may have the former address as its identity.
        let other = DeviceProperties(address: Self.id, adapter: Self.adapter, addressType: .public)
        _ = tree.add("/org/bluez/hci10/dev_41_00_00_00_00_01", .device(other))
        #expect(tree.receive(received(isRandom: false))?.id == "41:00:00:00:00:01")
        #expect(tree.receive(received())?.id == Self.id)
        _ = tree.remove(Self.path, interfaces: [BlueZ.device])
        #expect(tree.receive(received(0xC0FF_EE00_0001, isRandom: false)) == nil)
    }

    @Test func `the structures are those of the last advertisement from the kernel`() {
        var tree = tree()
        let both: [UInt8] = [2, 1, 6, 0, 3, 3, 0x0F, 0x18, 9, 9, 65]
        for data in [[2, 1, 6], both, [2, 1, 6, 0, 3, 3, 0x0F, 0x18], [], [0, 0], [2, 1, 4]] as [[UInt8]] {
            for strength in [Int8(-50), -51] {
                let received = ReceivedAdvertisement(
                    adapter: 10, sender: Self.sender, rssi: strength, data: data[...])
                let heard = tree.receive(received)?.advertisement
                #expect(heard?.structures == Advertisement(received: data).structures, "\(data)")
                #expect(heard?.rssi == Int(strength))
            }
        }
        #expect(tree.devices[Self.path]?.advertisement.flags == AdvertisingFlags(rawValue: 4))
        #expect(tree.devices[Self.path]?.advertisement.serviceUUIDs == [BluetoothUUID(0x180F)])
    }

    @Test func `what bluetoothd reports meanwhile leaves strength and structures, which end with the scan`() {
        var tree = tree()
        #expect(tree.receive(received(rssi: -40)) != nil)
        let cached = DeviceProperties(rssi: -70, uuids: UUIDList([BluetoothUUID(0x180D)]))
        #expect(tree.update(Self.path, .device(cached)).isEmpty == false)
        #expect(tree.devices[Self.path]?.advertisement.rssi == -40)
        #expect(tree.devices[Self.path]?.advertisement.structures.isEmpty == false)
        _ = tree.update(Self.path, .device(DeviceProperties(lostRSSI: true)))
        #expect(tree.devices[Self.path]?.advertisement.rssi == -40)
        tree.endReception()
        #expect(tree.devices[Self.path]?.advertisement.rssi == nil)
        #expect(tree.devices[Self.path]?.advertisement.structures == [])
        #expect(tree.devices[Self.path]?.advertisement.serviceUUIDs == [BluetoothUUID(0x180D)])
        // Structures that bluetoothd has reported are its own.
        let structure = AdvertisingStructure(type: 0x24, bytes: [1])
        _ = tree.update(Self.path, .device(DeviceProperties(structures: [structure], isAdvertisement: true)))
        tree.endReception()
        #expect(tree.devices[Self.path]?.advertisement.structures == [structure])
    }

    @Test func `what only the kernel has heard is not in range after the scan`() {
        var tree = tree()
        #expect(tree.receive(received(rssi: -40))?.advertisement.rssi == -40)
        #expect(tree.devices[Self.path]?.isHeard == false)
        tree.endReception()
        #expect(tree.devices[Self.path]?.advertisement.rssi == nil)
        #expect(tree.devices[Self.path]?.reception == ObjectTree.Reception.none)
        // bluetoothd reports the end of what it has reported.
        _ = tree.update(Self.path, .device(DeviceProperties(rssi: -41, isAdvertisement: true)))
        #expect(tree.receive(received(rssi: -40)) != nil)
        tree.endReception()
        #expect(tree.devices[Self.path]?.isHeard == true)
        #expect(tree.devices[Self.path]?.advertisement.rssi == -40)
    }

    @Test func `a name that follows in the scan response is reported`() {
        var tree = tree { $0.rssi = -50 }
        #expect(tree.add(Self.path, .device(DeviceProperties(name: "Other"))) == [.heard(Self.path)])
        #expect(tree.devices[Self.path]?.advertisement.localName == "Other")
    }

    @Test func `properties from a connection are not an advertisement`() {
        var tree = tree {
            $0.rssi = -50
            $0.isConnected = true
        }
        #expect(tree.add(Self.path, .device(DeviceProperties(uuids: [BluetoothUUID(0x180A)]))) == [])
        #expect(tree.devices[Self.path]?.advertisement.serviceUUIDs == [BluetoothUUID(0x180A)])
    }

    @Test func `the advertised name has precedence over the one from a connection`() {
        var tree = tree { $0.rssi = -50 }
        _ = tree.add(Self.path, .device(DeviceProperties(isConnected: true)))
        _ = tree.add(Self.path, .device(DeviceProperties(name: "Generic Access")))
        #expect(tree.devices[Self.path]?.advertisement.localName == "Strap")
        _ = tree.add(Self.path, .device(DeviceProperties(isConnected: false)))
        _ = tree.add(Self.path, .device(DeviceProperties(name: "New Strap", rssi: -50, isAdvertisement: true)))
        #expect(tree.devices[Self.path]?.advertisement.localName == "New Strap")
    }

    @Test func `the name from a connection is used if there is no other`() {
        var tree = tree {
            $0.name = nil
            $0.isConnected = true
        }
        _ = tree.add(Self.path, .device(DeviceProperties(name: "Generic Access")))
        #expect(tree.devices[Self.path]?.advertisement.localName == "Generic Access")
    }

    @Test func `a Classic device has its class and its kind of address`() {
        let tree = tree {
            $0.rssi = -50
            $0.uuids = [BluetoothUUID(0x110B)]
            $0.deviceClass = 0x240404
            $0.addressType = .public
        }
        let advertisement = tree.devices[Self.path]?.advertisement
        #expect(advertisement?.deviceClass == 0x240404)
        #expect(advertisement?.addressType == .public)
        #expect(advertisement?.serviceUUIDs == [BluetoothUUID(0x110B)])
    }

    @Test func `what bluetoothd does not take apart is taken apart here, and kept`() {
        let structures = [
            AdvertisingStructure(type: 0x14, bytes: [0x05, 0x18]), AdvertisingStructure(type: 0x1A, bytes: [0xA0, 0]),
            AdvertisingStructure(type: 0x15, bytes: [1]), AdvertisingStructure(type: 0x1C, bytes: [2]),
        ]
        let tree = tree {
            $0.rssi = -50
            $0.flags = .generalDiscoverable
            $0.structures = structures
        }
        let advertisement = tree.devices[Self.path]?.advertisement
        #expect(advertisement?.flags == .generalDiscoverable)
        #expect(advertisement?.solicitedServiceUUIDs == [BluetoothUUID(0x1805)])
        #expect(advertisement?.advertisingInterval == .milliseconds(100))
        #expect(advertisement?.structures == structures)
    }

    @Test func `invalidated properties are gone`() {
        var tree = tree {
            $0.rssi = -50
            $0.txPower = 4
        }
        #expect(tree.add(Self.path, .device(DeviceProperties(lostRSSI: true, lostTxPower: true))) == [])
        #expect(tree.devices[Self.path]?.advertisement.rssi == nil)
        #expect(tree.devices[Self.path]?.advertisement.txPower == nil)
    }

    // MARK: Links

    @Test func `a link comes and goes once`() {
        var tree = tree()
        let up = DeviceProperties(isConnected: true)
        #expect(tree.add(Self.path, .device(up)) == [.device(Self.path)])
        #expect(tree.add(Self.path, .device(up)) == [])
        let down = DeviceProperties(isConnected: false, areServicesResolved: false)
        #expect(
            tree.add(Self.path, .device(down)) == [
                .device(Self.path), .disconnected(Self.path, address: Self.address, nil),
            ])
        #expect(tree.add(Self.path, .device(down)) == [])
    }

    @Test func `the reason that was given for a link's end is that of this link alone`() {
        var tree = tree()
        let end = ObjectTree.LinkEnd(reason: "org.bluez.Reason.Remote", message: "gone")
        let down = DeviceProperties(isConnected: false)
        let ended = { (end: ObjectTree.LinkEnd?) -> [ObjectTree.Change] in
            [.device(Self.path), .disconnected(Self.path, address: Self.address, end)]
        }
        // Without a link, a reason is ignored.
        tree.noteLinkEnd(Self.path, end)
        tree.noteLinkEnd("/org/bluez/hci0/dev_00_00_00_00_00_00", end)
        _ = tree.add(Self.path, .device(DeviceProperties(isConnected: true)))
        #expect(tree.add(Self.path, .device(down)) == ended(nil))
        _ = tree.add(Self.path, .device(DeviceProperties(isConnected: true)))
        tree.noteLinkEnd(Self.path, end)
        #expect(tree.add(Self.path, .device(down)) == ended(end))
        _ = tree.add(Self.path, .device(DeviceProperties(isConnected: true)))
        #expect(tree.add(Self.path, .device(down)) == ended(nil))
    }

    @Test func `a device that is removed with its link up is disconnected first`() {
        var tree = tree { $0.isConnected = true }
        #expect(
            tree.remove(Self.path, interfaces: [BlueZ.properties, BlueZ.device]) == [
                .disconnected(Self.path, address: Self.address, nil), .device(Self.path),
                .removed(Self.path, address: Self.address),
            ])
        #expect(tree.remove(Self.path, interfaces: [BlueZ.device]) == [])
    }

    // MARK: Adapters

    @Test func `adapters change, and unplugged ones go`() {
        var tree = ObjectTree()
        let on = AdapterProperties(address: "C0:FF:EE:00:00:01", alias: "a", isPowered: true, isDiscovering: false)
        #expect(tree.add(Self.adapter, .adapter(on)) == [.adapter(Self.adapter)])
        #expect(tree.add(Self.adapter, .adapter(on)) == [])
        #expect(tree.add(Self.adapter, .adapter(AdapterProperties(isPowered: false))) == [.adapter(Self.adapter)])
        #expect(tree.adapters[Self.adapter]?.alias == "a")
        #expect(tree.remove(Self.adapter, interfaces: [BlueZ.adapter]) == [.adapter(Self.adapter)])
        #expect(tree.remove(Self.adapter, interfaces: [BlueZ.adapter]) == [])
    }

    // MARK: Attributes

    @Test func `attributes become a database in order of handles, with repeated UUIDs apart`() {
        var tree = tree()
        let uuid = BluetoothUUID(0x2A19)
        // In any order, as on the bus.
        let attributes: [(String, AttributeKind, AttributeProperties)] = [
            ("/service0010/char0013", .characteristic, AttributeProperties(uuid: uuid, flags: .notify)),
            ("/service0010/char0011", .characteristic, AttributeProperties(uuid: uuid, flags: .read)),
            ("/service0010/char0013/desc0015", .descriptor, AttributeProperties(uuid: BluetoothUUID(0x2902))),
            ("/service0010", .service, AttributeProperties(uuid: BluetoothUUID(0x180F), isPrimary: false)),
            ("/service0001", .service, AttributeProperties(uuid: BluetoothUUID(0x1801))),
            ("/service0020/char0021", .characteristic, AttributeProperties(uuid: uuid)),
        ]
        for (suffix, kind, properties) in attributes {
            #expect(tree.add(Self.path + suffix, .attribute(kind, properties)) == [.attributes(Self.path)])
        }
        // Another device whose path begins with this one's, and an unknown child.
        _ = tree.add(Self.path + "0/service0001", .attribute(.service, AttributeProperties(uuid: uuid)))
        let (database, paths) = tree.database(ofDevice: Self.path)
        #expect(database.map(\.handle) == [1, 0x10])
        #expect(database.map(\.isPrimary) == [true, false])
        #expect(database[1]?.characteristics.map(\.handle) == [0x11, 0x13])
        #expect(database[1]?.characteristics.map(\.properties) == [.read, .notify])
        #expect(database[1]?.characteristics[1].descriptors.map(\.handle) == [0x15])
        #expect(paths[0x13] == Self.path + "/service0010/char0013")
        #expect(
            tree.remove(Self.path + "/service0010/char0013", interfaces: [BlueZ.gattCharacteristic]) == [
                .attributes(Self.path)
            ])
        #expect(tree.database(ofDevice: Self.path).database[1]?.characteristics.map(\.handle) == [0x11])
    }

    @Test(arguments: [
        ("/org/bluez/hci0/dev_A/service0001", "/org/bluez/hci0/dev_A"),
        ("/org/bluez/hci0/dev_A/service0001/char0002/desc0003", "/org/bluez/hci0/dev_A"),
        ("/org/bluez/hci0/dev_A", nil),
        ("/org/bluez/test", nil), ("/", nil), ("", nil),
    ])
    func `the device of an attribute is the beginning of its path`(_ path: String, _ device: String?) {
        #expect(ObjectTree.device(ofAttribute: path) == device)
    }

    @Test(arguments: [
        ("/a/service000a", 0x0A as UInt16?), ("/a/charffff", 0xFFFF), ("/a/charxyzw", nil), ("", nil), ("ab", 0xAB),
    ])
    func `a handle is the end of a path`(_ path: String, _ handle: UInt16?) {
        #expect(BlueZ.handle(ofPath: path) == handle)
    }

    @Test func `a device is found by its address, also when that has changed since`() {
        var tree = tree()
        #expect(tree.device(address: Self.address, adapter: Self.adapter) == Self.path)
        #expect(tree.device(address: Self.address, adapter: "/org/bluez/hci0") == nil)
        _ = tree.add(Self.path, .device(DeviceProperties(address: "00:00:00:00:00:01")))
        #expect(tree.device(address: "00:00:00:00:00:01", adapter: Self.adapter) == Self.path)
        #expect(tree.device(address: Self.address, adapter: Self.adapter) == Self.path)
        #expect(tree.device(address: "00:00:00:00:00:02", adapter: Self.adapter) == nil)
    }

    @Test func `pairing is said once`() {
        var tree = tree { $0.isConnected = true }
        #expect(tree.add(Self.path, .device(DeviceProperties(isPaired: true))) == [.paired(Self.path)])
        #expect(tree.add(Self.path, .device(DeviceProperties(isPaired: true))) == [])
        #expect(tree.add(Self.path, .device(DeviceProperties(isPaired: false))) == [])
        #expect(tree.devices[Self.path]?.isPaired == false)
    }

    @Test func `what is said of an object that is gone makes none`() {
        var tree = ObjectTree()
        #expect(tree.update(Self.path, .device(DeviceProperties(rssi: -50, isAdvertisement: true))) == [])
        #expect(tree.update(Self.adapter, .adapter(AdapterProperties(isPowered: true))) == [])
        #expect(tree.devices.isEmpty && tree.adapters.isEmpty)
        _ = tree.add(Self.path, .device(DeviceProperties(address: "00:00:00:00:00:01")))
        _ = tree.remove(Self.path, interfaces: [BlueZ.device])
        #expect(tree.update(Self.path, .device(DeviceProperties(rssi: -50))) == [])
        #expect(tree.devices.isEmpty)
    }
}
