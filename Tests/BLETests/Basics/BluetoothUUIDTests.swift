import BLE
import Testing

@Suite struct BluetoothUUIDTests {
    @Test(arguments: [
        "180f", "180F", "0x180F", "0X180f", "0000180F", "0x0000180f", "0000180f-0000-1000-8000-00805f9b34fb",
        "0000180F-0000-1000-8000-00805F9B34FB", "0x0000180f-0000-1000-8000-00805f9b34fb",
        "0000180F00001000800000805F9B34FB", "0x0000180f00001000800000805f9b34fb",
    ])
    func `every spelling of a UUID is the same UUID`(_ text: String) {
        #expect(BluetoothUUID(text) == BluetoothUUID(0x180F))
    }

    @Test(arguments: [
        "", "0x", "1", "18", "180", "180F0", "180F00", "180F000", "180F00000", "180G", "+80F", "-80F", " 180F", "180F ",
        "18 0F", "0x0x180F", "180F0x", "１８０Ｆ", "18é", "180F\u{301}", "180F\0", "0000-180F", "180F-", "-180F", "0x-180F",
        "0000180F-00001000-8000-00805F9B34FB", "0000180F-0000-1000-8000-00805F9B34F",
        "0000180F-0000-1000-8000-00805F9B34FBB", "0000180F-0000-1000-8000-00805F9B34FG",
        "0000180F-0000-1000-8000-00805F9B34FB-", "0000180F0-000-1000-8000-00805F9B34FB",
        "0000180F--0000-1000-8000-00805F9B34FB", "{0000180F-0000-1000-8000-00805F9B34FB}",
        "0000180F_0000_1000_8000_00805F9B34FB", "0000180F00001000800000805F9B34F", "0000180F00001000800000805F9B34FBB",
        "+000180F-0000-1000-8000-00805F9B34FB", "-000180F00001000800000805F9B34FB", "battery",
    ])
    func `a text that spells no UUID gives nil`(_ text: String) {
        #expect(BluetoothUUID(text) == nil)
    }

    @Test func `a UUID is found under any of its forms`() throws {
        let full = try #require(BluetoothUUID("0000180f-0000-1000-8000-00805f9b34fb"))
        #expect(Set([BluetoothUUID(0x180F)]).contains(full))
        #expect(full.hashValue == BluetoothUUID(0x180F).hashValue)
    }

    @Test(arguments: [
        "0000180f-0000-1000-8000-00805f9b34fc", "0000180f-0000-1001-8000-00805f9b34fb",
        "0001180f-0000-1000-8000-00805f9b34fb", "180e",
    ])
    func `a UUID that differs in one digit is another`(_ text: String) throws {
        #expect(try #require(BluetoothUUID(text)) != BluetoothUUID(0x180F))
    }

    @Test(arguments: [
        (BluetoothUUID(0), "0000"), (BluetoothUUID(0x180F), "180f"), (BluetoothUUID(0xFFFF), "ffff"),
        (BluetoothUUID(0x1_0000), "00010000-0000-1000-8000-00805f9b34fb"),
        (BluetoothUUID(0xDEAD_BEEF), "deadbeef-0000-1000-8000-00805f9b34fb"),
        (
            BluetoothUUID(high: 0x0000_0001_9F34_11EE, low: 0x8C90_0242_AC12_0002),
            "00000001-9f34-11ee-8c90-0242ac120002"
        ),
        (BluetoothUUID(high: 0, low: 0), "00000000-0000-0000-0000-000000000000"),
    ])
    func `the description is the shortest form and spells the same UUID`(_ uuid: BluetoothUUID, _ text: String) {
        #expect(uuid.description == text)
        #expect(BluetoothUUID(text) == uuid)
        #expect(BluetoothUUID(uuid.fullDescription) == uuid)
    }

    @Test func `the full description has all digits in lowercase`() {
        #expect(BluetoothUUID(0x180F).fullDescription == "0000180f-0000-1000-8000-00805f9b34fb")
    }

    @Test func `only a UUID that the SIG assigned in 16 bits has a short form`() {
        #expect(BluetoothUUID(0x2A37).short == 0x2A37)
        #expect(BluetoothUUID(0).short == 0)
        #expect(BluetoothUUID(0xFFFF).short == 0xFFFF)
        #expect(BluetoothUUID(0x1_0000).short == nil)
        #expect(BluetoothUUID(high: 0x0000_2A37_0000_1000, low: 0).short == nil)
        #expect(BluetoothUUID(high: 0x0000_2A37_0000_1001, low: 0x8000_0080_5F9B_34FB).short == nil)
    }

    @Test func `UUIDs sort by the number they are`() {
        let sorted = [
            BluetoothUUID(high: 0, low: 1), BluetoothUUID(high: 0, low: .max), BluetoothUUID(0x1800),
            BluetoothUUID(0x180F), BluetoothUUID(high: 0x0000_180F_0000_1000, low: .max), BluetoothUUID(0x2A37),
            BluetoothUUID(0xDEAD_BEEF), BluetoothUUID(high: .max, low: 0),
        ]
        #expect(sorted.reversed().sorted() == sorted)
        #expect(!(BluetoothUUID(0x180F) < BluetoothUUID(0x180F)))
    }
}
