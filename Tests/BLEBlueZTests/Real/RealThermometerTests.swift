import BLE
import BLEProfiles
import BLETestSupport
import BlueZTestSupport
import Foundation
import Subprocess
import Testing

/// The example `Docs/Examples/Thermometer` on the air. Runs inside `Scripts/with-bluez` only.
@Suite(.enabled(if: RealPeer.isThere), .serialized, .startsProcesses, .hangLimit)
struct RealThermometerTests {
    private static let rhythm = Characteristic<UInt8>(BluetoothUUID("8E1D0001-5C0E-4F0B-9B5D-0A6A3B1F7C21")!)

    @Test func `a central of another stack sets its rhythm and receives the temperature`() async throws {
        try await RealPeer().reset()
        let phone = try await Central(backend: BumbleCentral(1))
        let bundle = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        let result = try await TestProgram(bundle.appending(path: "Thermometer").path, ["air"]).run { running in
            let thermometer = try await phone.first(matching: .service(.environmentalSensing), timeout: .seconds(60))
                .peripheral
            try await thermometer.write(1, to: Self.rhythm)
            #expect(try await thermometer.read(Self.rhythm) == 1)
            var temperatures = try await thermometer.notifications(.temperature).makeAsyncIterator()
            for expected in [21.5, 21.6, 21.7] {
                let temperature = try await temperatures.next()
                #expect(temperature == .some(expected))
            }
            running.send(.terminate)
        }
        await phone.shutDown()
        #expect(result.status == 0)
        #expect(result.output.hasSuffix("stopped\n"))
    }
}
