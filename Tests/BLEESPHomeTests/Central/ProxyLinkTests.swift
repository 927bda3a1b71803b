import BLE
import Testing

@testable import BLEESPHome

@Suite struct ProxyLinkTests {
    @Test func `services with more attributes than there are handles are refused`() {
        var link = ProxyLink(state: .connected(mtu: 23))
        let uuid = BluetoothUUID(0x180F)
        let service = ProxyService(
            uuid: uuid, handle: 1,
            characteristics: Array(repeating: .init(uuid: uuid, handle: 2, properties: 2), count: 0xFFFD))
        // 65,534 attributes.
        let (whole, last, more) = (
            link.append([service]), link.append([ProxyService(uuid: uuid, handle: 1)]),
            link.append([ProxyService(uuid: uuid, handle: 1)])
        )
        #expect((whole, last, more) == (true, true, false))
    }
}
