import BLE
import BLETestSupport
import Foundation
import Testing

@Suite struct AdvertisementTests {
    @Test func `an advertisement prints its properties`() {
        let text = "\(Advertisement(localName: "Tank", rssi: -50, txPower: 4, manufacturerData: [0x02E0: [1]]))"
        #expect(
            text.hasPrefix("Advertisement(rssi: Optional(-50), localName: Optional(\"Tank\"), txPower: Optional(4)"))
        #expect(text.contains("manufacturerData: [736: [1]]"))
        let labels = Mirror(reflecting: Advertisement()).children.compactMap(\.label)
        #expect(
            labels == [
                "rssi", "localName", "txPower", "serviceUUIDs", "manufacturerData", "serviceData", "appearance",
                "deviceClass", "addressType", "isConnectable", "flags", "solicitedServiceUUIDs", "advertisingInterval",
                "structures",
            ])
    }

    @Test func `a packet becomes an advertisement`() throws {
        let packet = try #require(
            Hex.bytes(
                "020106 03030d18 0302 0f18 04084d7920 0709 4d792048 5221 020afc 03194103 04ffe00201 04160f1864 03140518 031aa000"
            ))
        let data = try AdvertisingData(decoding: packet.span)
        let advertisement = try Advertisement(data)
        #expect(
            advertisement
                == Advertisement(
                    localName: "My HR!", txPower: -4, serviceUUIDs: [BluetoothUUID(0x180D), BluetoothUUID(0x180F)],
                    manufacturerData: [0x02E0: [1]], serviceData: [BluetoothUUID(0x180F): [0x64]], appearance: 0x0341,
                    flags: [.generalDiscoverable, .classicNotSupported],
                    solicitedServiceUUIDs: [BluetoothUUID(0x1805)], advertisingInterval: .milliseconds(100),
                    structures: data.structures))
    }

    @Test func `a changed copy leaves the original as it was`() {
        let battery = BluetoothUUID(0x180F)
        let original = Advertisement(localName: "Strap", rssi: -50, serviceData: [battery: [1]])
        var copy = original
        copy.serviceData[battery]?.append(2)
        copy.rssi = 127
        #expect(original == Advertisement(localName: "Strap", rssi: -50, serviceData: [battery: [1]]))
        #expect(copy == Advertisement(localName: "Strap", serviceData: [battery: [1, 2]]))
        (copy.serviceData, copy.rssi) = (original.serviceData, original.rssi)
        #expect(copy == original && copy.hashValue == original.hashValue)
    }

    @Test(arguments: [["08", "09"], ["09", "08"]])
    func `the whole name counts, wherever it stands`(_ types: [String]) throws {
        let names = ["08": "0308 4d79", "09": "0709 4d7920485221"]
        let packet = try #require(Hex.bytes(types.compactMap { names[$0] }.joined()))
        #expect(try Advertisement(AdvertisingData(decoding: packet.span)).localName == "My HR!")
    }

    @Test func `a malformed structure is an error`() throws {
        let data = AdvertisingData(structures: [AdvertisingStructure(type: 0x19, bytes: [1])])
        #expect(throws: AdvertisingDataError.invalidLength(type: 0x19, count: 1)) { try Advertisement(data) }
    }

    @Test(arguments: 0..<300)
    func `what an advertisement says outlasts a packet`(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let elements = (0..<Int.random(in: 0...8, using: &generator)).map { _ in
            AdvertisingElement.random(using: &generator)
        }
        let first = try Advertisement(AdvertisingData(elements))
        let packet = try first.data().encode(limit: .chained)
        var second = try Advertisement(AdvertisingData(decoding: packet.span))
        // Of the structures, only the unknown ones are sent unchanged.
        second.structures = first.structures
        #expect(second == first)
    }

    @Test(arguments: [
        Duration.microseconds(624), .nanoseconds(625_001), .microseconds(-625), .seconds(3_000_000),
        .seconds(Int64.max),
    ])
    func `an interval that cannot be encoded is an error`(_ interval: Duration) {
        #expect(throws: AdvertisingDataError.invalidValue(type: 0x1A)) {
            try Advertisement(advertisingInterval: interval).data()
        }
    }

    @Test(
        arguments: [(Int.max, nil), (Int.min, -128), (-129, -128), (-128, -128), (20, 20), (127, nil)] as [(Int, Int?)])
    func `a signal strength is that of a byte, also in a recording`(_ rssi: Int, _ limited: Int?) throws {
        #expect(Advertisement(rssi: rssi).rssi == limited)
        let json = Data(#"{"rssi":\#(rssi)}"#.utf8)
        #expect(try JSONDecoder().decode(Advertisement.self, from: json).rssi == limited)
    }

    @Test func `the longest interval can be encoded`() throws {
        let interval = Duration.microseconds(625 * Int64(UInt32.max))
        let data = try Advertisement(advertisingInterval: interval).data()
        #expect(data.structures == [AdvertisingStructure(type: 0x2F, bytes: [0xFF, 0xFF, 0xFF, 0xFF])])
        #expect(try Advertisement(data).advertisingInterval == interval)
    }
}
