import BLE
import FoundationEssentials
import Testing

@testable import BLECommand

struct GatewayFileTests {
    private func read(_ text: String) throws -> GatewayConfiguration {
        try GatewayFile.configuration(json: Data(text.utf8))
    }

    @Test func `a file has the broker, the topics and the devices`() throws {
        let configuration = try read(
            """
            {"id": "kitchen", "prefix": "home/ble", "discovery": "ha",
             "broker": {"host": "broker.local", "port": 1884, "user": "ble", "password": "secret", "tls": {"ca": "ca.pem"}},
             "devices": {
               "freezer": {"address": "c4:7c:8d:00:00:01", "name": "Freezer", "expiry": 60,
                           "bthomeKey": "231d39c1d7cc1ab1aee224cd096db932"},
               "strap": {"address": "C4:7C:8D:00:00:02", "values": ["heart-rate/heart-rate-measurement", "2a19"]},
               "tags": {"company": "0499"}, "beds": {"localName": "Bed"}, "thermometers": {"service": "fcd2"}}}
            """)
        #expect(configuration.id == "kitchen")
        #expect(configuration.prefix == "home/ble")
        #expect(configuration.discoveryPrefix == "ha")
        #expect(configuration.broker.port == 1884)
        #expect(configuration.broker.tls?.certificateAuthorities == "ca.pem")
        let devices = Dictionary(uniqueKeysWithValues: configuration.devices.map { ($0.key, $0) })
        #expect(devices["freezer"]?.match == .address(Peripheral.ID(rawValue: "C4:7C:8D:00:00:01")))
        #expect(devices["freezer"]?.expiry == .seconds(60))
        #expect(devices["freezer"]?.bthomeKey?.count == 16)
        #expect(devices["strap"]?.values.map(\.characteristic) == [BluetoothUUID(0x2A37), BluetoothUUID(0x2A19)])
        #expect(devices["strap"]?.values.first?.service == BluetoothUUID(0x180D))
        #expect(devices["tags"]?.match == .company(0x0499))
        #expect(devices["beds"]?.match == .name("Bed"))
        #expect(devices["thermometers"]?.match == .service(BluetoothUUID(0xFCD2)))
    }

    @Test(arguments: [
        (#"{"devices": {}}"#, "id: is missing"),
        (#"{"id": "a"}"#, "devices: is missing"),
        (#"{"id": "a/b", "devices": {}}"#, "id: not a part of a topic"),
        (#"{"id": "a", "prefix": "ble/#", "devices": {}}"#, "prefix: not the beginning of a topic"),
        (#"{"id": "a", "devices": {}, "brokers": {}}"#, "brokers: unknown key; did you mean \"broker\"?"),
        (
            #"{"id": "a", "devices": {"x": {"address": "C4:7C:8D:00:00:01", "hue": 1}}}"#,
            "devices.x.hue: unknown key"
        ),
        (#"{"id": "a", "devices": {"x": {"name": "X"}}}"#, "devices.x: a device has one of"),
        (#"{"id": "a", "devices": {"x": {"company": "0499", "service": "fcd2"}}}"#, "devices.x: a device has one of"),
        (#"{"id": "a", "devices": {"x": {"address": "C4:7C"}}}"#, "devices.x.address: not an address"),
        (
            #"{"id": "a", "devices": {"x": {"company": "0499", "values": ["2a19"]}}}"#,
            "devices.x.values: only a device with an address"
        ),
        (
            #"{"id": "a", "devices": {"x": {"company": "0499"}, "y": {"company": "0499"}}}"#,
            "devices.y: the same peripherals as \"x\""
        ),
        (#"{"id": "a", "devices": {"x": {"company": "0499"}, "x": {"company": "0059"}}}"#, "x"),
        (#"{"id": "a", "devices": {}, "broker": {"password": "p"}}"#, "broker.password: a password needs a user"),
        (#"{"id": "a", "devices": {}, "broker": {"port": 0}}"#, "broker.port: not a number"),
    ])
    func `a mistake is refused with its place`(text: String, message: String) {
        do {
            _ = try read(text)
            Issue.record("accepted")
        } catch {
            #expect("\(error)".contains(message), "\(error)")
        }
    }
}
