import BLE
import BLEBlueZ
import BLEProfiles

try await withCentral { central in
    for try await found in central.discoveries(matching: .service(.heartRate)) {
        for try await beat in try await HeartRate(found.peripheral).measurements() {
            print(beat.beatsPerMinute, beat.rrIntervalsSeconds)
        }
    }
}
