import BLE
import BLEBTHome
import BLEBeacons
import BLEObservation
import BLEProfiles
import Observation

/// What the program shows: the adapter, the chosen peripherals with their values, and the peripherals in range with
/// their readings.
///
/// The lines are made of observable properties: they are made again when one of these has changed.
@MainActor final class Monitor {
    private let adapter: ObservableAdapter
    private let nearby: ObservableNearby
    private let sensors: ObservableSensors
    private let chosen: [ObservablePeripheral]

    /// - Parameter ids: the peripherals to connect to.
    init(_ central: Central, chosen ids: [Peripheral.ID] = []) {
        adapter = ObservableAdapter(central)
        nearby = ObservableNearby(central, minimumRSSI: nil)
        sensors = ObservableSensors(central, formats: AdvertisementFormats([.beacons, .bthome]))
        chosen = ids.map {
            ObservablePeripheral(
                central.peripheral($0), values: [.notify(.heartRateMeasurement), .readAndNotify(.batteryLevel)])
        }
    }

    /// Keeps everything up to date until the task is cancelled. Throws the errors of a scan.
    func run() async throws {
        try await withThrowingDiscardingTaskGroup { group in
            group.addTask { [adapter] in try await adapter.run() }
            group.addTask { [nearby] in try await nearby.run() }
            group.addTask { [sensors] in try await sensors.run() }
            for peripheral in chosen { group.addTask { try await Self.follow(peripheral) } }
        }
    }

    /// Keeps a peripheral connected, and its values up to date. One that fails does not end the others.
    private static func follow(_ followed: ObservablePeripheral) async throws {
        let peripheral = followed.peripheral
        while true {
            do {
                try await peripheral.setConnectionPolicy(.maintained())
                try await followed.run()
            } catch let error as BLEError where error.code == .shutDown {
                throw error
            } catch {
                // Throws if the task is cancelled.
                try await peripheral.central.configuration.clock.sleep(for: .seconds(1))
            }
        }
    }

    /// The lines to show.
    var lines: [String] {
        let state = adapter.state.map { $0 == .poweredOn ? "on" : "\($0)" } ?? "unknown"
        return ["Bluetooth: \(state), \(nearby.discoveries.count) in range"]
            + chosen.map(line) + nearby.discoveries.map(line)
    }

    /// A chosen peripheral, as `C0:00:00:00:00:01  connected  72 bpm  90 %`.
    private func line(_ peripheral: ObservablePeripheral) -> String {
        var parts = ["\(peripheral.id)", peripheral.connectionState.map { "\($0)" } ?? "-"]
        if let error = peripheral.connectionError { parts.append(error.message) }
        parts += [
            value(of: .heartRateMeasurement, peripheral) { "\($0.beatsPerMinute) bpm" },
            value(of: .batteryLevel, peripheral) { "\($0) %" },
        ].compactMap { $0 }
        return parts.map(Self.printable).joined(separator: "  ")
    }

    /// Returns the text of a value, or of the error if it cannot be decoded. Nil if the value is not known.
    private func value<Value>(
        of characteristic: Characteristic<Value>, _ peripheral: ObservablePeripheral, text: (Value) -> String
    ) -> String? {
        do throws(BLEError) {
            return try peripheral.value(of: characteristic).map(text)
        } catch {
            return "(\(error.message))"
        }
    }

    /// A peripheral in range, as `-60 dBm  C0:00:00:00:00:02  Ruuvi 884F  temperature 24.3 °C, humidity 53.49 %`.
    private func line(_ found: Discovery) -> String {
        let strength = found.advertisement.rssi.map { "\($0) dBm" } ?? "-"
        let readings = sensors.table.sensor(found.id)?.readings.map { "\($0.reading)" } ?? []
        return [strength, "\(found.id)", found.advertisement.localName ?? "", readings.joined(separator: ", ")]
            .filter { !$0.isEmpty }.map(Self.printable).joined(separator: "  ")
    }

    /// Returns a text, such as a name that was received, without what controls a terminal or the direction of text, and
    /// of at most 100 scalars.
    private static func printable(_ text: String) -> String {
        var scalars = String.UnicodeScalarView()
        for scalar in text.unicodeScalars.prefix(100) {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .unassigned: scalars.append("\u{FFFD}")
            default: scalars.append(scalar)
            }
        }
        return String(scalars) + (text.unicodeScalars.count > 100 ? "…" : "")
    }
}
