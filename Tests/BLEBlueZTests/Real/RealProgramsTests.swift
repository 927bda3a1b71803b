import BLE
import BLETestSupport
import BlueZTestSupport
import Foundation
import Testing

/// What programs of other authors get from the real bluetoothd, to which the fake one is compared. Runs inside
/// `Scripts/with-bluez` only.
@Suite(.enabled(if: Guest.isHere), .serialized, .inGuest, .startsProcesses, .hangLimit)
struct RealProgramsTests {
    @Test func `bleak gets and hears what was recorded`() async throws {
        try await RealPeer().reset()
        try compare(try await OtherPrograms.bleakSession(), .bleak)
    }

    @Test func `what bluez-peripheral serves, a central of another stack finds and uses, as was recorded`()
        async throws
    {
        try await RealPeer().reset()
        let central = try await Central(backend: BumbleCentral(1), configuration: .quiet())
        try compare(try await OtherPrograms.pythonPeripheralSession(central), .bluezPeripheral)
        await central.shutDown()
    }

    @Test func `bluetoothctl shows what was recorded`() async throws {
        try await RealPeer().reset()
        try compare(try await OtherPrograms.bluetoothctlSession(), .bluetoothctl)
    }

    @Test(.enabled(if: OtherPrograms.has("bleak_esphome")))
    func `aioesphomeapi, and bleak-esphome with habluetooth, use a strap through a proxy`() async throws {
        let peer = RealPeer()
        try await peer.reset()
        let result = try await OtherPrograms.proxySession { numbers in
            for number in numbers { try await peer.notify([UInt8(number & 0xFF), UInt8(number >> 8), 0, 0]) }
        }
        #expect(result.session.hasSuffix("\nok\n"), "\(result)")
        #expect(result.session.contains("received 1000\ntwo clients\nbleak "))
        #expect(result.proxy.contains("\"linkRefused\""))
    }

    /// Compares a session with the recorded one, or with `BLE_RECORD=1`, records it.
    private func compare(_ session: String, _ recorded: OtherPrograms.Recorded) throws {
        let version = try #require(Guest.bluetoothdVersion)
        guard ProcessInfo.processInfo.environment["BLE_RECORD"] == nil else {
            return try session.write(to: recorded.url(version), atomically: false, encoding: .utf8)
        }
        let difference = OtherPrograms.difference(session, try recorded.session(version))
        #expect(difference == [], "\(difference.joined(separator: "\n"))")
    }
}
