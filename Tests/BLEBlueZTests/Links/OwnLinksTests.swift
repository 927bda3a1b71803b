import BLE
import Testing

@testable import BLEBlueZ

@Suite struct OwnLinksTests {
    private let strap = Peripheral.ID(rawValue: "F0:F1:F2:F3:F4:F5")

    @Test func `a link that outlasts bluetoothd is this client's when it is wanted again`() {
        var links = OwnLinks()
        links.insert(strap)
        links.stackLost()
        #expect(!links.contains(strap))
        links.adopt(strap, isConnected: true)
        #expect(links.contains(strap))
    }

    @Test func `a link that was made after the loss by another program is not`() {
        var links = OwnLinks()
        links.insert(strap)
        links.stackLost()
        // The link was down when the central wanted it, and is forgotten.
        links.adopt(strap, isConnected: false)
        links.adopt(strap, isConnected: true)
        #expect(!links.contains(strap))
    }

    @Test func `links of several losses are remembered, to a limit`() {
        var links = OwnLinks()
        let ids = (0..<1500).map { Peripheral.ID(rawValue: "\($0)") }
        for part in [ids[..<500], ids[500..<1200], ids[1200...]] {
            for id in part { links.insert(id) }
            links.stackLost()
        }
        for id in ids { links.adopt(id, isConnected: true) }
        #expect(links.all == Set(ids[1200...]))
    }

    @Test func `what is left of the end of a link does not strike off the next one`() {
        var links = OwnLinks()
        links.insert(strap)
        let number = links.number(of: strap)
        links.remove(strap)
        links.insert(strap)
        links.remove(strap, number)
        #expect(links.contains(strap))
        links.remove(strap, links.number(of: strap))
        #expect(!links.contains(strap))
    }

    @Test func `a reason is given once, and not beyond a loss`() {
        var links = OwnLinks()
        links.setReason(.pairingRefused, "/strap")
        #expect(links.takeReason("/strap")?.code == BLEError.pairingRefused.code)
        #expect(links.takeReason("/strap") == nil)
        links.setReason(.pairingRefused, "/strap")
        links.stackLost()
        #expect(links.takeReason("/strap") == nil)
    }
}
