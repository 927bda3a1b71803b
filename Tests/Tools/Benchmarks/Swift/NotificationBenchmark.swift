internal import BLE
internal import BLEBlueZ
internal import DBus
internal import Glibc
internal import Logging
internal import Loop
internal import Synchronization

/// Receives the notifications of a fake bluetoothd.
enum NotificationBenchmark {
    private static let heartRate = Characteristic<[UInt8]>(BluetoothUUID(0x2A37))

    /// The whole path, with code as users write it.
    @concurrent
    static func run(
        _ place: Benchmarks.Place, _ delivery: NotificationDelivery = .standard, measuresLatency: Bool = false
    ) async throws {
        try await Benchmarks.withCentral(place) { central in
            try await receive(central, delivery, measuresLatency: measuresLatency)
        }
    }

    /// Receives the values of the one peripheral, up to the marker.
    nonisolated static func receive(
        _ central: Central, _ delivery: NotificationDelivery = .standard, measuresLatency: Bool = false
    ) async throws {
        let values = try await central.peripheral(Benchmarks.peripheral).notifications(
            heartRate, delivery: delivery, overflow: .fail(capacity: 1 << 20))
        var measurement = Measurement()
        if measuresLatency { measurement.latencies = [] }
        for try await value in values where measurement.take(value) { break }
    }

    /// The bus session alone: the signals are decoded in its callback, and there is no backend, central or stream.
    @concurrent
    static func runSession() async throws {
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

/// Receives the notifications of many peripherals of `fake-many`, each in a loop of its own.
enum PeripheralsBenchmark {
    @concurrent
    static func run(_ count: Int) async throws {
        try await withCentral { central in
            let crowd = Crowd(count)
            try await withThrowingTaskGroup { group in
                for known in await central.knownPeripherals() {
                    let values = try await central.peripheral(known.id).notifications(
                        Characteristic<[UInt8]>(BluetoothUUID(0x2A37)), overflow: .fail(capacity: 1 << 16))
                    group.addTask {
                        var previous: UInt32?
                        for try await value in values where !crowd.take(value, after: &previous) { break }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    /// The common measurement of all loops.
    private final class Crowd: Sendable {
        private let size: Int
        private let state = Mutex((measurement: Measurement(), finished: 0))

        init(_ size: Int) { self.size = size }

        /// Counts a value, whose number runs through all peripherals. Returns false at the peripheral's marker.
        func take(_ value: [UInt8], after previous: inout UInt32?) -> Bool {
            let counter = Measurement.uint32(value, at: 0)
            return state.withLock { state in
                guard counter != .max else {
                    state.finished += 1
                    if state.finished == size { state.measurement.report(total: Measurement.uint32(value, at: 4)) }
                    return false
                }
                if state.measurement.count == 0 { state.measurement.start() }
                state.measurement.count += 1
                if let previous, counter != previous + UInt32(size) { state.measurement.isInOrder = false }
                previous = counter
                return true
            }
        }
    }
}
