import BLE
import BLEBlueZ
import BLEProfiles
import Dispatch
import Glibc

guard CommandLine.arguments.count == 2 else {
    print("usage: strap-logger ADDRESS")
    exit(64)
}

/// Prints a line that the journal shows immediately.
@Sendable func note(_ line: String) {
    print(line)
    fflush(nil)
}

/// Logs the heart rate until the task is cancelled.
@Sendable func log(_ id: Peripheral.ID) async throws {
    var configuration = Central.Configuration()
    configuration.waitsForBluetooth = true
    let central = try await Central(configuration: configuration)
    let strap = central.peripheral(id)
    do {
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
    } catch {
        await central.shutDown()
        throw error
    }
}

let (watched, watch) = AsyncStream.makeStream(of: Void.self)
let work = Task {
    // Before both signals are watched, they would end the process without a shutdown.
    for await _ in watched.prefix(2) {}
    try await log(Peripheral.ID(rawValue: CommandLine.arguments[1]))
}
let signals = [SIGTERM, SIGINT].map { number in
    let source = DispatchSource.makeSignalSource(signal: number, queue: .main)
    source.setRegistrationHandler { watch.yield() }
    source.setEventHandler { work.cancel() }
    source.resume()
    return source
}
do {
    try await work.value
} catch let error as BLEError where error.isCancellation {
    note("stopped")
} catch {
    note("\(error)")
    exit(1)
}
withExtendedLifetime(signals) {}
