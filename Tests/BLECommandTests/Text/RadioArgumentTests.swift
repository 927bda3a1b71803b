import Testing

@testable import BLECommand

@Suite struct RadioArgumentTests {
    @Test(
        arguments: [
            ("hci0", .adapter("hci0"), "hci0"), ("hci12", .adapter("hci12"), "hci12"),
            ("esphome://10.0.0.7", .proxy(host: "10.0.0.7", port: 6053, keyFile: nil), "10.0.0.7"),
            ("esphome://attic.local:1234", .proxy(host: "attic.local", port: 1234, keyFile: nil), "attic.local:1234"),
            (
                "esphome://attic/?key-file=/etc/a key", .proxy(host: "attic", port: 6053, keyFile: "/etc/a key"),
                "attic"
            ),
            (
                "esphome://[fe80::1]:6054?key-file=k=2", .proxy(host: "fe80::1", port: 6054, keyFile: "k=2"),
                "[fe80::1]:6054"
            ),
        ] as [(String, RadioArgument, String)])
    func `a radio is an adapter or a proxy`(_ text: String, _ radio: RadioArgument, _ name: String) throws {
        let read = try RadioArgument(named: text)
        #expect(read == radio)
        #expect(read.name == name)
    }

    @Test(arguments: [
        "", "hci", "hci0x", "hci123456", "eth0", "esphome://", "esphome://:6053", "esphome://a:0", "esphome://a:65536",
        "esphome://a:b", "esphome://a?key=x", "esphome://a?key-file=", "esphome://fe80::1", "esphome://a b",
        "esphome://[]", "esphome://k@a", "http://a",
    ])
    func `anything else is refused, with what a radio may be`(_ text: String) {
        let error = #expect(throws: (any Error).self) { try RadioArgument(named: text) }
        #expect(error.map { "\($0)" }?.contains("esphome://10.0.0.7?key-file=PATH") == true)
    }
}
