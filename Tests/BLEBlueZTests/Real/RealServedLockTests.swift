import BLE
import BLEBlueZ
import BLETestSupport
import BlueZTestSupport
import Testing

/// The worked example's lock (Docs/Examples/SmartLock), served. Runs inside `Scripts/with-bluez` only.
@Suite(.enabled(if: Guest.isHere), .serialized, .inGuest, .hangLimit)
struct RealServedLockTests {
    @Test func `the worked example's lock opens for a central of another stack`() async throws {
        try await RealPeer().reset()
        let host = try await PeripheralHost()
        let central = try await Central(backend: BumbleCentral(1))
        try await LockOnHost(host: host, central: central).check()
    }
}
