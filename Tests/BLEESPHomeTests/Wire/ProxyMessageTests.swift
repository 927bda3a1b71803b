import BLE
import BLETesting
import Testing

@testable import BLEESPHome

/// The messages against those of aioesphomeapi, in both directions.
@Suite struct ProxyMessageTests {
    private static let address: UInt64 = 0xF0F1_F2F3_F4F5
    private static let uuid = BluetoothUUID(high: 0x6E40_0001_B5A3_F393, low: 0xE0A9_E50E_24DC_CA9E)

    private static var info: ProxyInfo {
        var info = ProxyInfo()
        (info.name, info.mac, info.version, info.model) = ("kitchen", "AA:BB:CC:DD:EE:FF", "2026.6.0", "esp32")
        (info.projectName, info.projectVersion, info.manufacturer) = ("a.b", "1", "Espressif")
        (info.friendlyName, info.features) = ("Kitchen", ProxyFeatures(rawValue: 255))
        (info.bluetoothMAC, info.isEncryptionSupported) = ("AA:BB:CC:DD:EE:01", true)
        return info
    }

    private static let services = [
        ProxyService(
            uuid: uuid, handle: 40,
            characteristics: [
                .init(
                    uuid: uuid, handle: 43, properties: 0x1A,
                    descriptors: [.init(uuid: BluetoothUUID(0x2902), handle: 44)])
            ]),
        ProxyService(
            uuid: BluetoothUUID(0x180D), handle: 10,
            characteristics: [
                .init(
                    uuid: BluetoothUUID(0x2A37), handle: 12, properties: 0x10,
                    descriptors: [.init(uuid: BluetoothUUID(0x2902), handle: 13)])
            ]),
    ]

    private static let messages: [String: ProxyMessage] = [
        "hello": .hello(client: "swift-ble", version: .current),
        "helloAnswer": .helloAnswer(version: .current, server: "proxy é", name: "kitchen"),
        "disconnect": .disconnect(reason: 1), "disconnectAnswer": .disconnectAnswer, "ping": .ping,
        "pingAnswer": .pingAnswer, "deviceInfoRequest": .deviceInfoRequest, "deviceInfo": .deviceInfo(info),
        "listEntities": .listEntities, "listEntitiesDone": .listEntitiesDone,
        "subscribeAdvertisements": .subscribeAdvertisements(flags: 1),
        "unsubscribeAdvertisements": .unsubscribeAdvertisements,
        "advertisements": .advertisements([
            RawAdvertisement(address: address, rssi: -61, addressType: 1, data: [2, 1, 6]),
            RawAdvertisement(address: 0x010203, rssi: 4, addressType: 0, data: []),
        ]),
        "scannerState": .scannerState(.running, mode: .active, configured: .active),
        "setScannerMode": .setScannerMode(.active),
        "connect": .request(.connectWithoutCache, address: address, addressType: 1),
        "disconnectPeripheral": .request(.disconnect, address: address, addressType: nil),
        "connected": .connection(address: address, isConnected: true, mtu: 247, error: 0),
        "connectionEnded": .connection(address: address, isConnected: false, mtu: 0, error: 0x13),
        "notConnected": .connection(address: address, isConnected: false, mtu: 0, error: -1),
        "servicesRequest": .servicesRequest(address: address), "services": .services(address: address, services),
        "servicesDone": .servicesDone(address: address), "read": .read(address: address, handle: 300),
        "readAnswer": .readAnswer(address: address, handle: 300, [0, 1]),
        "write": .write(address: address, handle: 300, withResponse: true, [UInt8](repeating: 0, count: 200)),
        "command": .write(address: address, handle: 300, withResponse: false, [0x61]),
        "writeAnswer": .writeAnswer(address: address, handle: 300),
        "readDescriptor": .readDescriptor(address: address, handle: 13),
        "writeDescriptor": .writeDescriptor(address: address, handle: 13, [1, 0]),
        "notify": .notify(address: address, handle: 12, isEnabled: true),
        "stopNotifying": .notify(address: address, handle: 12, isEnabled: false),
        "notifyAnswer": .notifyAnswer(address: address, handle: 12),
        "notification": .notification(address: address, handle: 12, [6, 0x48]),
        "attributeError": .attributeError(address: address, handle: 12, error: 14),
        "attributeWithoutLink": .attributeError(address: address, handle: 12, error: -1),
        "subscribeSlots": .subscribeSlots,
        "slots": .slots(ProxySlots(free: 1, limit: 3, allocated: [address, 1])),
        "paired": .paired(address: address, isPaired: true, error: 0),
        "unpaired": .unpaired(address: address, isUnpaired: true, error: 0),
        "cacheCleared": .cacheCleared(address: address, isCleared: false, error: 0x101),
        "setConnectionParameters": .setConnectionParameters(
            address: address, minimum: 6, maximum: 12, latency: 1, timeout: 400),
        "connectionParameters": .connectionParameters(address: address, error: -1),
        "capabilitiesRequest": .capabilitiesRequest,
        "capabilities": .capabilities(ProxyFeatures(rawValue: 47), mac: "AA:BB:CC:DD:EE:01"),
    ]

    @Test func `every message is that of aioesphomeapi, in both directions`() throws {
        #expect(Set(Self.messages.keys) == Set(MessageVectors.all.keys))
        for (name, vector) in MessageVectors.all {
            let message = try #require(Self.messages[name])
            let body = try #require(Hex.bytes(vector.body))
            #expect(try ProxyMessage(type: vector.type, body[...]) == message, "\(name)")
            let encoded = message.encoded()
            #expect(UInt64(encoded.type) == vector.type, "\(name)")
            // Its long form of a short UUID is read, and not written.
            guard name != "services" else { continue }
            #expect(encoded.body == body, "\(name)")
        }
        let encoded = ProxyMessage.services(address: Self.address, Self.services).encoded(for: APIVersion(1, 11)).body
        #expect(
            try ProxyMessage(type: 71, encoded[...]) == .services(address: Self.address, Self.services))
        #expect(encoded.count > ProxyMessage.services(address: Self.address, Self.services).encoded().body.count)
    }

    @Test func `every beginning of a message is a message or refused, without a trap`() throws {
        for vector in MessageVectors.all.values {
            let body = try #require(Hex.bytes(vector.body))
            for count in 0..<body.count { _ = try? ProxyMessage(type: vector.type, body.prefix(count)) }
            for index in body.indices {
                var changed = body
                changed[index] ^= 0xFF
                _ = try? ProxyMessage(type: vector.type, changed[...])
            }
        }
    }

    @Test func `unknown messages, fields and requests are skipped`() throws {
        #expect(try ProxyMessage(type: 7000, [1, 2]) == .other(7000))
        #expect(try ProxyMessage(type: 68, [0x10, 77]) == .other(68))
        #expect(try ProxyMessage(type: 7, [0xFF]) == .ping)
        #expect(
            try ProxyMessage(type: 81, [0x08, 2, 0x78, 5, 0x18, 9, 0x1A, 1, 8])
                == .slots(ProxySlots(free: 2, limit: 0, allocated: [9, 8])))
        #expect(throws: WireError.invalidText) { try ProxyMessage(type: 2, [0x22, 1, 0xFF]) }
    }

    @Test func `addresses are read from the most significant octet`() {
        #expect(DeviceAddress("F0:F1:F2:F3:F4:F5")?.rawValue == Self.address)
        #expect(DeviceAddress(Self.address)?.id == "F0:F1:F2:F3:F4:F5")
        #expect(DeviceAddress(0x0A)?.description == "00:00:00:00:00:0A")
        #expect(DeviceAddress(1 << 48) == nil)
        #expect(DeviceAddress("strap") == nil)
    }
}
