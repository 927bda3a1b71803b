internal import BLE
internal import BLEBlueZ
internal import Glibc

/// Measures the framework as its users call it: on the bus at `DBUS_SYSTEM_BUS_ADDRESS`, with the programs of `../C` at
/// its other end, or in this process alone.
@main
enum Benchmarks {
    /// Not asynchronous: an asynchronous main function makes a signal handler's thread wait, and valgrind gives up on
    /// such a thread.
    static func main() {
        Task.detached {
            let arguments = CommandLine.arguments.dropFirst()
            do {
                if try await run(arguments.first ?? "", Array(arguments.dropFirst())) { exit(0) }
                print("usage: Benchmarks NAME [ARGUMENTS…], as in harness/rows.py")
                exit(64)
            } catch {
                print("failed:", error)
                exit(70)
            }
        }
        while true { pause() }
    }

    /// The place where the code that uses the central runs.
    enum Place: String {
        /// In `withCentral`, as the README shows it.
        case scope
        /// On the global executor.
        case stream
        /// As `scope`, with a connection over GDBus.
        case gdbus
    }

    /// Runs a measurement. Returns false if there is none with that name and these arguments.
    private static func run(_ name: String, _ arguments: [String]) async throws -> Bool {
        let numbers = arguments.compactMap { Int($0) }
        let word = arguments.first ?? ""
        switch (name, arguments.count, numbers.count) {
        case ("latency", 1, 0):
            guard let place = Place(rawValue: word) else { return false }
            try await NotificationBenchmark.run(place, measuresLatency: true)
        case ("scope", 0, 0): try await NotificationBenchmark.run(.scope)
        case ("stream", 0, 0): try await NotificationBenchmark.run(.stream)
        case ("gdbus", 0, 0): try await NotificationBenchmark.run(.gdbus)
        case ("session", 0, 0): try await NotificationBenchmark.runSession()
        case ("scan", 2, 1):
            guard let way = ScanBenchmark.Way(rawValue: word) else { return false }
            try await ScanBenchmark.run(way, numbers[0])
        case ("scanners", 1, 1): try await ScanBenchmark.runScanners(numbers[0])
        case ("gateway", 1, 1): try await GatewayBenchmark.run(devices: numbers[0])
        case ("socket", 1, 0):
            guard let place = Place(rawValue: word) else { return false }
            try await NotificationBenchmark.run(place, .socket)
        case ("write", 2, 1):
            guard let place = Place(rawValue: word) else { return false }
            try await WriteBenchmark.run(place, count: UInt32(numbers[0]))
        case ("read", 3, 2):
            guard let place = Place(rawValue: word) else { return false }
            try await ReadBenchmark.run(place, numbers[0], parallel: numbers[1])
        case ("beside", 3, 2):
            guard let place = Place(rawValue: word) else { return false }
            try await BesideBenchmark.run(place, numbers[0], devices: numbers[1])
        case ("known", 1, 1): try await KnownBenchmark.run(numbers[0])
        case ("count", 1, 0), ("count", 2, 0):
            guard let kind = CountBenchmark.Kind(rawValue: word) else { return false }
            try await CountBenchmark.run(kind, arguments.count == 2 ? BluetoothUUID(arguments[1]) : nil)
        case ("peripherals", 1, 1): try await PeripheralsBenchmark.run(numbers[0])
        case ("serve", 3, 2):
            guard let way = ServeBenchmark.Way(rawValue: word) else { return false }
            try await ServeBenchmark.run(way, count: UInt32(numbers[0]), rate: numbers[1])
        #if DeviceCommands
            case ("proxy", 3, 1):
                guard let place = Place(rawValue: word), let kind = ProxyBenchmark.Kind(rawValue: arguments[1]) else {
                    return false
                }
                try await ProxyBenchmark.run(place, kind, devices: numbers[0])
            case ("hub", 2, 1):
                guard let seconds = Int(arguments[0]), ["plain", "encrypted"].contains(arguments[1]) else {
                    return false
                }
                try await HubBenchmark.run(seconds: seconds, isEncrypted: arguments[1] == "encrypted")
            case ("proxy-server", 0, 0): try await ProxyBenchmark.serve()
            case ("codec", 0, 0):
                try CodecBenchmark.run()
                try await ExchangeBenchmark.run()
        #endif
        case ("elements", 0, 0): try await ElementsBenchmark.run()
        case ("radio", 0, 0): try await RadioBenchmark.run()
        case ("choice", 0, 0): try await ChoiceBenchmark.run()
        case ("choice", 3, 3):
            try await ChoiceBenchmark.run(radios: numbers[0], peripherals: numbers[1], rounds: numbers[2])
        case ("radio", 2, 2): try await RadioBenchmark.run(values: numbers[0], rounds: numbers[1])
        case ("crowd", 0, 0): try await RadioBenchmark.runCrowd()
        case ("crowd", 1, 1): try await RadioBenchmark.runCrowd(seconds: numbers[0])
        case ("memory", 1, 0):
            guard let way = MemoryBenchmark.Way(rawValue: word) else { return false }
            try await MemoryBenchmark.run(way)
        default: return false
        }
        return true
    }

    /// Runs `body` with a central at a place.
    static func withCentral(
        _ place: Place, _ body: @escaping @concurrent @Sendable (Central) async throws -> Void
    ) async throws {
        switch place {
        case .scope: try await BLEBlueZ.withCentral(body)
        case .gdbus: try await BLE.withCentral(backend: BlueZConnection(transport: .gdbus).makeCentral(), body)
        case .stream:
            let central = try await Central()
            try await body(central)
            await central.shutDown()
        }
    }

    /// The only peripheral of some of the fake daemons.
    static let peripheral = Peripheral.ID(rawValue: "F0:F1:F2:F3:F4:F5")
}
