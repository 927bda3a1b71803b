import BLE
import BLEBlueZ
import BLEProfiles
import Glibc

guard CommandLine.arguments.count == 2 else {
    print("usage: strap-logger ADDRESS")
    exit(64)
}
let id = Peripheral.ID(rawValue: CommandLine.arguments[1])

/// Prints a line that the journal shows immediately.
@Sendable func note(_ line: String) {
    print(line)
    fflush(nil)
}

// Until SIGTERM or SIGINT. Waits for the bus, bluetoothd and the adapter.
await runProgram {
    try await withCentral(waits: true) { central in
        let strap = central.peripheral(id)
        // Reconnects forever, with pauses from 0.5 s up to 30 s.
        try await strap.setConnectionPolicy(.maintained())
        // Runs on every new link.
        await strap.setConnectionHandler { strap in note("battery: \(try await strap.read(.batteryLevel)) %") }
        for try await event in try await HeartRate(strap).measurements().events {
            switch event {
            case .value(let beat): note("heart rate: \(beat.beatsPerMinute)")
            case .gap(let reason): note("interrupted: \(reason.message)")
            }
        }
    }
}
note("stopped")
