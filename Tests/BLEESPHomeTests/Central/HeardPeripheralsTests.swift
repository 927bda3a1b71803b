import BLE
import BLETesting
import Testing

@testable import BLEESPHome

@Suite struct HeardPeripheralsTests {
    private func raw(_ address: UInt64, _ data: [UInt8], rssi: Int32 = -60, type: UInt32 = 1) -> RawAdvertisement {
        RawAdvertisement(address: address, rssi: rssi, addressType: type, data: data)
    }

    private static let flags: [UInt8] = [2, 1, 6]
    private static let name: [UInt8] = [3, 9, 0x48, 0x69]

    @Test func `an advertisement and its scan response are one`() throws {
        var heard = HeardPeripherals()
        let received = heard.receive(raw(0xF0F1_F2F3_F4F5, Self.flags + Self.name))
        let found = try #require(received)
        #expect(found.id == "F0:F1:F2:F3:F4:F5")
        #expect(found.advertisement.localName == "Hi")
        #expect(found.advertisement.flags == [.generalDiscoverable, .classicNotSupported])
        #expect(found.advertisement.rssi == -60)
        #expect(found.advertisement.addressType == .random)
    }

    @Test func `what one packet lacks is kept from the others`() throws {
        var heard = HeardPeripherals()
        _ = heard.receive(raw(1, Self.flags + Self.name))
        let received = heard.receive(raw(1, [2, 0x0A, 4], rssi: -70))
        let found = try #require(received)
        #expect(found.advertisement.localName == "Hi")
        #expect(found.advertisement.txPower == 4)
        #expect(found.advertisement.rssi == -70)
    }

    @Test func `the same data again changes only the strength, and an unknown one is none`() throws {
        var heard = HeardPeripherals()
        _ = heard.receive(raw(1, Self.name))
        let received = heard.receive(raw(1, Self.name, rssi: 127))
        let found = try #require(received)
        #expect(found.advertisement.localName == "Hi")
        #expect(found.advertisement.rssi == nil)
    }

    @Test(arguments: [
        flags + [9, 9, 0x48], flags + [3, 0x19, 1] + [0, 0], flags + [1], [0, 0] + flags, flags + [2, 9, 0xFF],
        flags + [0x80],
    ]) func `malformed structures do not hide the others`(_ data: [UInt8]) throws {
        var heard = HeardPeripherals()
        let received = heard.receive(raw(1, data))
        let found = try #require(received)
        #expect(found.advertisement.flags == [.generalDiscoverable, .classicNotSupported])
        #expect(found.advertisement.localName == nil)
    }

    @Test func `a scan response after an advertisement that is filled up is read`() throws {
        var heard = HeardPeripherals()
        let received = heard.receive(raw(1, Self.flags + [0, 0, 0, 0] + Self.name))
        let found = try #require(received)
        #expect(found.advertisement.localName == "Hi")
    }

    @Test func `a sender with other services in each packet does not make what is known of it grow`() throws {
        var heard = HeardPeripherals()
        for number in 0..<1000 {
            let uuid = [UInt8(number & 0xFF), UInt8(0xA0 | number >> 8)]
            let received = heard.receive(raw(1, [3, 3] + uuid + [4, 0x16] + uuid + [7]))
            let found = try #require(received)
            #expect(found.advertisement.serviceUUIDs.contains(BluetoothUUID(0xA000 | UInt32(number))))
            #expect(found.advertisement.serviceUUIDs.count <= 64)
            #expect(found.advertisement.serviceData.count <= 32)
        }
    }

    @Test func `data that is longer than a radio receives is ignored`() {
        var heard = HeardPeripherals()
        let whole = heard.receive(raw(1, [UInt8](repeating: 0, count: 1650)))
        #expect(whole != nil)
        let longer = heard.receive(raw(2, [UInt8](repeating: 0, count: 1651)))
        #expect(longer == nil)
    }

    @Test func `a number of more than 48 bits is no peripheral`() {
        var heard = HeardPeripherals()
        let received = heard.receive(raw(1 << 48, Self.name))
        #expect(received == nil)
        #expect(heard.addressType(1 << 48) == nil)
    }

    @Test func `of too many, those that were not heard for longest are forgotten, but not those with a link`() {
        var heard = HeardPeripherals(capacity: 10)
        for address in 1...10 { _ = heard.receive(raw(UInt64(address), Self.name)) }
        let none = heard.removeExcess { _ in false }
        #expect(none.isEmpty)
        _ = heard.receive(raw(2, Self.name))
        _ = heard.receive(raw(11, Self.name))
        let removed = heard.removeExcess { $0 == 1 }
        #expect(removed.map(\.rawValue) == (3...8).map { "00:00:00:00:00:0\($0)" })
        #expect(heard.addressType(1) != nil)
        #expect(heard.addressType(2) != nil)
        #expect(heard.addressType(11) != nil)
    }
}
