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

    @Test(arguments: ["48:00:00:00:00:02", "7F:00:00:00:00:02", "00:00:00:00:00:02", "BF:00:00:00:00:02"])
    func `a peripheral whose address changes is not a device`(address: String) {
        #expect(entry(address, Advertisement(manufacturerData: [0x0499: []], addressType: .random)) == nil)
        #expect(entry(address, Advertisement(manufacturerData: [0x0499: []])) == nil)
    }
}
