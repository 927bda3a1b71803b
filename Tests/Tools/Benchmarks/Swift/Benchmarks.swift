internal import BLE
internal import BLEBlueZ
internal import DBus
internal import Glibc
internal import Logging
internal import Synchronization

/// Receives the notifications of the fake bluetoothd on the bus at `DBUS_SYSTEM_BUS_ADDRESS`, in one of three ways, or what a
/// scan hears there; serves values to the fake central there; or measures messages: their codec, and requests with their replies on the simulation.
@main
enum Benchmarks {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        switch arguments.first {
        case "stream": try await receiveElsewhere()
        case "loop": try await receiveOnLoop()
        case "session": try await receiveFromSession()
        case "codec":
            try CodecBenchmark.run()
            try await ExchangeBenchmark.run()
        case "scan":
            guard arguments.count == 3, let way = ScanBenchmark.Way(rawValue: arguments[2]),
                let devices = Int(arguments[3]), devices > 0
            else { fallthrough }
            try await ScanBenchmark.run(way, devices: devices)
        case "serve":
            guard arguments.count == 4, let way = ServeBenchmark.Way(rawValue: arguments[2]),
                let count = UInt32(arguments[3]), count > 0, let rate = Int(arguments[4]), rate >= 0
            else { fallthrough }
            try await ServeBenchmark.run(way, count: count, rate: rate)
        default:
            print(
                "usage: Benchmarks stream|loop|session|codec|scan stream|loop|matching DEVICES|serve handler|loop COUNT RATE"
            )
            exit(64)
        }
    }

    private static let heartRate = Characteristic<[UInt8]>(BluetoothUUID(0x2A37))
    private static let peripheral = Peripheral.ID(rawValue: "F0:F1:F2:F3:F4:F5")

    /// The whole path, as a user writes it: the loop is read on the global executor.
    @concurrent
    private static func receiveElsewhere() async throws {
        try await receive(Central(backend: .bluez()))
    }

    /// The whole path, read on the thread that delivers.
    @concurrent
    private static func receiveOnLoop() async throws {
        let backend = BlueZCentral.bluez()
        let central = try await Central(backend: backend)
        try await Task(executorPreference: backend.taskExecutor) { try await receive(central) }.value
    }

    private nonisolated static func receive(_ central: Central) async throws {
        let values = try await central.peripheral(peripheral).notifications(
            heartRate, overflow: .fail(capacity: 1 << 20))
        var measurement = Measurement()
        for try await value in values where measurement.take(value) { break }
        await central.shutDown()
    }

    /// The bus session alone: the signals are decoded in its callback, and there is no backend, central or stream.
    @concurrent
    private static func receiveFromSession() async throws {
        let path = "/org/bluez/hci0/dev_F0_F1_F2_F3_F4_F5/service0010/char0011"
        let measurement = Mutex(Measurement())
        let (done, finish) = AsyncStream.makeStream(of: Void.self)
        let session = BusSession(
            loop: EventLoop(), logger: Logger(label: "benchmark"),
            onSignal: { message in
                guard let value = value(in: message) else { return }
                if measurement.withLock({ $0.take(value) }) { finish.finish() }
            }, onLoss: {})
        try await session.open(.system, timeout: .seconds(10))
        try await session.listen(
            "type='signal',sender='org.bluez',interface='org.freedesktop.DBus.Properties',"
                + "member='PropertiesChanged',path_namespace='/org/bluez'", timeout: .seconds(10))
        _ = try await session.call(
            MethodCall("org.bluez", path, "org.bluez.GattCharacteristic1", "StartNotify"), timeout: .seconds(10))
        for await _ in done {}
        await session.close()
    }

    private static func value(in message: IncomingMessage) -> [UInt8]? {
        var body = message.body
        guard message.member == "PropertiesChanged", let interface = try? body.text(),
            interface == "org.bluez.GattCharacteristic1"
        else { return nil }
        var found: [UInt8]?
        try? body.forEachProperty { (name, value) throws(DBusError) in
            if name == "Value" { found = try value.bytes() }
        }
        return found
    }
}
