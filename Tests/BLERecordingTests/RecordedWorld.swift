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

    /// A world with the peripherals of a recording.
    init(replaying recording: Recording, _ recorder: Recorder = Recorder()) async throws {
        let clock = ManualClock()
        try await self.init(recorder, on: SimulatedRadio(replaying: recording, clock: clock), clock: clock)
    }

    /// Does the work while that much time passes.
    func during<Value: Sendable>(
        _ time: Duration, _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let task = Task(executorPreference: radio.taskExecutor) { try await work() }
        await clock.run(for: time)
        return try await task.value
    }

    /// Returns a peripheral as soon as it is discovered.
    func find(_ id: Peripheral.ID) async throws -> Peripheral {
        for try await found in central.discoveries() where found.peripheral.id == id { break }
        return central.peripheral(id)
    }

    /// Adds a battery at 90 %, and discovers it.
    func addBattery() async throws -> (simulated: SimulatedPeripheral, found: Peripheral) {
        let battery = await radio.add(.battery(level: 90))
        return (battery, try await find(battery.id))
    }

    /// Adds a battery at 90 % and reads it.
    func readBattery() async throws {
        #expect(try await addBattery().found.read(.batteryLevel) == 90)
    }
}
