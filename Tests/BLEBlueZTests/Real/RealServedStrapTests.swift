import BLE
import BLEProfiles
import BLETestSupport
import BlueZTestSupport
import Foundation
import Subprocess
import Testing

/// `ble serve heart-rate-strap`, for two centrals of another stack. Runs inside `Scripts/with-bluez` only.
@Suite(.enabled(if: Guest.isHere), .serialized, .inGuest, .startsProcesses, .hangLimit)
struct RealServedStrapTests {
    /// Reads measurements, one after the other.
    private func read(_ count: Int, _ phone: Central) async throws {
        let strap = try await phone.first(matching: .service(.heartRate), timeout: HangLimit.step).peripheral
        var beats = try await HeartRate(strap).measurements().makeAsyncIterator()
        for _ in 0..<count {
            let beat = try await beats.next()
            #expect((beat?.beatsPerMinute ?? 0) > 0)
        }
    }

    @Test func `two centrals receive measurements, before and after two deaths of bluetoothd`() async throws {
        try await RealPeer().reset()
        let phones = [try await Central(backend: BumbleCentral(1)), try await Central(backend: BumbleCentral(2))]
        let bundle = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        let result = try await TestProgram(bundle.appending(path: "ble").path, ["serve", "heart-rate-strap", "--json"])
            .run { running in
                try await running.output.until("\"advertising\"")
                async let eight: Void = read(8, phones[0])
                try await read(3, phones[1])
                try await eight
                for kill in 1...2 {
                    #expect(Guest.shell("/run/bluez/kill") == 0)
                    #expect(Guest.shell("/run/bluez/start") == 0)
                    try await running.output.until(count: kill, "\"servicesRestored\"")
                    try await running.output.until(count: kill + 1, "\"advertising\"")
                    for phone in phones {
                        // The new bluetoothd may have taken the links over; see Docs/Testing.md.
                        for strap in await phone.connectedPeripherals() { try? await strap.disconnect() }
                    }
                    async let first: Void = read(3, phones[0])
                    try await read(3, phones[1])
                    try await first
                }
                running.send(.interrupt)
            }
        for phone in phones { await phone.shutDown() }
        #expect(result.status == 130)
    }
}
