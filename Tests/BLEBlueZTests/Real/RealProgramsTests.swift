import BLE
import BLETestSupport
import BlueZTestSupport
import Testing

/// What programs of other authors get from the real bluetoothd, to which the fake one is compared. Runs inside
/// `Scripts/with-bluez` only.
@Suite(.enabled(if: Guest.isHere), .serialized, .inGuest, .startsProcesses, .hangLimit)
struct RealProgramsTests {
    @Test func `bleak gets and hears what was recorded`() async throws {
        try await RealPeer().reset()
        let version = try #require(Guest.bluetoothdVersion)
        let session = try await OtherPrograms.bleakSession()
        let difference = OtherPrograms.difference(session, try OtherPrograms.recordedBleakSession(version))
        #expect(difference == [], "\(difference.joined(separator: "\n"))")
    }

    @Test func `what bluez-peripheral serves, a central of another stack finds and uses`() async throws {
        try await RealPeer().reset()
        try await OtherPrograms.withPythonPeripheral {
            let central = try await Central(backend: BumbleCentral(1), configuration: .quiet())
            try await OtherPrograms.usePythonPeripheral(central)
            await central.shutDown()
        }
    }

    @Test func `bluetoothctl shows what was recorded`() async throws {
        try await RealPeer().reset()
        let session = try await OtherPrograms.bluetoothctlSession()
        #expect(OtherPrograms.difference(session, try OtherPrograms.recordedBluetoothctlSession()) == [])
    }
}
