import BLE
import BLEFakeBlueZ
import BlueZTestSupport
import DBus
import Testing

@testable import BLEBlueZ

@Suite struct AdapterTests {
    @Test func `hci10 comes after hci9`() {
        let paths = ["hci10", "hci2", "hci0", "hci9", "hci11"].map { "/org/bluez/\($0)" }
        #expect(
            BlueZ.inOrder(paths).map(BlueZ.adapterID) == ["hci0", "hci2", "hci9", "hci10", "hci11"])
    }

    private func refusal(_ name: String, _ switches: [RadioSwitch]) -> BLEError {
        BlueZStack.refusal(
            BLEError(.bluez("\(name)", "no"), during: .adapter), of: "hci1", switches)
    }

    @Test func `a kernel that only says that it failed is explained by its switches`() {
        let soft = refusal("Failed", [RadioSwitch("hci1", soft: true)])
        #expect(soft.code == .blocked)
        #expect(soft.remedy?.contains("rfkill unblock") == true)
        #expect(soft.stackErrorName == "org.bluez.Error.Failed")
        let hard = refusal("Failed", [RadioSwitch("hci1", soft: true, hard: true)])
        #expect(hard.code == .blocked)
        #expect(hard.remedy?.contains("switch or key") == true)
    }

    @Test func `a daemon that says blocked is believed`() {
        #expect(refusal("Blocked", []).code == .blocked)
        #expect(refusal("Blocked", [RadioSwitch("hci1", hard: true)]).remedy?.contains("switch or key") == true)
    }

    @Test func `another adapter's switch explains nothing`() {
        let error = refusal("Failed", [RadioSwitch("hci0", soft: true), RadioSwitch("hci1")])
        #expect(error.code == .failed)
        #expect(error.remedy?.contains("dmesg") == true)
    }

    @Test func `what has other causes stays what it is`() {
        #expect(refusal("InProgress", [RadioSwitch("hci1", soft: true)]).code == .busy)
    }
}
