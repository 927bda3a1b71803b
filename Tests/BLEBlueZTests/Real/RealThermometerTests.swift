import BLE
import BLETestSupport
import BlueZTestSupport
import Foundation
import Subprocess
import Testing

/// The example `Docs/Examples/Thermometer` on the air. Runs inside `Scripts/with-bluez` only.
@Suite(.enabled(if: Guest.isHere), .serialized, .inGuest, .startsProcesses, .hangLimit)
struct RealThermometerTests {
    @Test func `a central of another stack sets its rhythm and receives the temperature`() async throws {
        try await RealPeer().reset()
        let phone = try await Central(backend: BumbleCentral(1))
        let bundle = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        let result = try await TestProgram(bundle.appending(path: "Thermometer").path, ["air"]).run { running in
            _ = try await ThermometerTests.use(phone)
            running.send(.terminate)
        }
        await phone.shutDown()
        #expect(result.status == 0)
        #expect(result.output.hasSuffix("stopped\n"))
    }
}
