import BLE
import BLEProfiles
import BLERecording
import BLESimulation
import BLETesting
import BLETestSupport
import Testing

/// A central on a simulated radio whose backend is recorded, in virtual time.
struct RecordedWorld {
    let clock: ManualClock
    let radio: SimulatedRadio
    let central: Central

    /// - Parameter radio: by default, a new one.
    init(_ recorder: Recorder, on radio: SimulatedRadio? = nil, clock: ManualClock = ManualClock()) async throws {
        self.clock = clock
        self.radio = radio ?? SimulatedRadio(clock: clock)
        central = try await Central(
            backend: .recording(.simulated(self.radio), to: recorder), configuration: .quiet(clock: clock))
    }

    /// Adds a battery at 90 % and reads it.
    func readBattery() async throws {
        let battery = await radio.add(.battery(level: 90))
        for try await found in central.discoveries() where found.peripheral.id == battery.id { break }
        #expect(try await central.peripheral(battery.id).read(.batteryLevel) == 90)
    }
}
