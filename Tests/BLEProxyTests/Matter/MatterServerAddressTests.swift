import BLE
import Testing

@testable import BLEProxy

struct MatterServerAddressTests {
    @Test(
        arguments: [
            ("ws://hub.local:5580/ble", "hub.local", 5580, "/ble"), ("ws://hub", "hub", 80, "/ble"),
            ("WS://10.0.0.7:80/", "10.0.0.7", 80, "/ble"),
            ("ws://[fe80::1]:5580/x", "fe80::1", 5580, "/x"),
            ("ws://[::1]", "::1", 80, "/ble"), ("ws://hub:1?key=2", "hub", 1, "/ble?key=2"),
        ] as [(String, String, UInt16, String)])
    func `a URL has a host, a port and a path`(_ text: String, _ host: String, _ port: UInt16, _ path: String) throws {
        let address = try MatterServerAddress(text)
        #expect(address.host == host)
        #expect(address.port == port)
        #expect(address.path == path)
        // A query may have a secret.
        #expect(!"\(address)".contains("?"))
        #expect("\(address)" == "ws://\(address.authority)\(path.prefix { $0 != "?" })")
    }

    @Test(arguments: [
        ("http://hub/ble?key=secret", "http://hub/ble"), ("ws://user:secret@hub/ble?key=secret", "@hub/ble"),
    ])
    func `the query and the user of a wrong URL are not shown`(_ text: String, _ shown: String) {
        let error = #expect(throws: BLEError.self) { try MatterServerAddress(text) }
        #expect(error?.message == "“\(shown)” is not the URL of a Matter server")
    }

    @Test(
        arguments: [
            "", "hub", "hub:5580", "http://hub", "ws:hub", "ws://", "ws://:5580", "ws://hub:", "ws://hub:0",
            "ws://hub:65536", "ws://hub:+1", "ws://a@hub", "ws://hub/#x", "ws://hub/ x", "ws://hub\r\nX: y",
            "ws://hub/\u{e9}", "ws://::1", "ws://[::1", "ws://[::1]x", "ws://[hub]",
            "ws://hub/" + String(repeating: "a", count: 3000),
        ])
    func `anything else is refused`(_ text: String) {
        let error = #expect(throws: BLEError.self) { try MatterServerAddress(text) }
        #expect(error?.code == .invalidArgument)
    }

    @Test func `TLS is refused with a remedy`() {
        let error = #expect(throws: BLEError.self) { try MatterServerAddress("wss://hub:5580/ble") }
        #expect(error?.code == .notSupported)
        #expect(error?.remedy != nil)
    }
}
