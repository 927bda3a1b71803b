import BLE
import Testing

@testable import BLECommand

struct DeviceListTests {
    private let list = DeviceList([
        ListedDevice(key: "own", match: .address(Peripheral.ID(rawValue: "48:00:00:00:00:01"))),
        ListedDevice(key: "tags", match: .company(0x0499)), ListedDevice(key: "named", match: .name("Bed")),
        ListedDevice(key: "reports", match: .service(BluetoothUUID(0xFCD2))),
    ])

    private func entry(_ address: String, _ advertisement: Advertisement) -> String? {
        list.entry(of: Peripheral.ID(rawValue: address), advertisement)?.key
    }

    @Test func `a peripheral has the entry of its address, its name, its company or its service`() {
        let random = AddressType.random
        #expect(entry("48:00:00:00:00:01", Advertisement(addressType: random)) == "own")
        #expect(
            entry("C4:00:00:00:00:01", Advertisement(manufacturerData: [0x0499: []], addressType: random)) == "tags")
        #expect(entry("04:00:00:00:00:01", Advertisement(localName: "Bed", addressType: .public)) == "named")
        let service = BluetoothUUID(0xFCD2)
        #expect(entry("C4:00:00:00:00:01", Advertisement(serviceUUIDs: [service], addressType: random)) == "reports")
        #expect(entry("C4:00:00:00:00:01", Advertisement(serviceData: [service: []], addressType: random)) == "reports")
        #expect(entry("C4:00:00:00:00:01", Advertisement(localName: "Bett", addressType: random)) == nil)
    }

    @Test func `a peripheral has the entry of its whole name, or of the longest beginning`() {
        let list = DeviceList([
            ListedDevice(key: "polar", match: .namePrefix("Polar")),
            ListedDevice(key: "one", match: .name("Polar H10 7")),
            ListedDevice(key: "h10", match: .namePrefix("Polar H10")), ListedDevice(key: "tags", match: .company(1)),
        ])
        func entry(_ name: String) -> String? {
            let advertisement = Advertisement(localName: name, manufacturerData: [1: []], addressType: .public)
            return list.entry(of: Peripheral.ID(rawValue: "04:00:00:00:00:01"), advertisement)?.key
        }
        #expect(entry("Polar H10 7") == "one")
        #expect(entry("Polar H10 8") == "h10")
        #expect(entry("Polar H10") == "h10")
        #expect(entry("Polar OH1") == "polar")
        #expect(entry("Pola") == "tags")
        #expect(entry("") == "tags")
    }

    @Test(arguments: ["48:00:00:00:00:02", "7F:00:00:00:00:02", "00:00:00:00:00:02", "BF:00:00:00:00:02"])
    func `a peripheral whose address changes is not a device`(address: String) {
        #expect(entry(address, Advertisement(manufacturerData: [0x0499: []], addressType: .random)) == nil)
        #expect(entry(address, Advertisement(manufacturerData: [0x0499: []])) == nil)
    }

    @Test func `a resolvable private address has the entry of its key`() throws {
        let bytes = try #require(Hex.bytes("ec0234a357c8ad05341010a60a397d9b"))
        let key = try #require(IdentityResolvingKey(bytes))
        let list = DeviceList([
            ListedDevice(key: "watch", match: .identity(key)), ListedDevice(key: "all", match: .name("Watch")),
        ])
        func entry(_ address: String, _ type: AddressType? = .random) -> String? {
            list.entry(
                of: Peripheral.ID(rawValue: address), Advertisement(localName: "Watch", addressType: type))?.key
        }
        #expect(entry("70:81:94:0D:FB:AA") == "watch")
        #expect(entry("70:81:94:0D:FB:AA", nil) == "watch")
        #expect(entry("70:81:94:0D:FB:AB") == nil)
        // A public address that looks the same has no key.
        #expect(entry("70:81:94:0D:FB:AA", .public) == "all")
    }
}
