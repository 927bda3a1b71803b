internal import BLE
internal import BLEBlueZ
internal import Glibc
internal import Synchronization

/// Serves a characteristic to the fake central on the bus, and sends values from the first subscription to its end, or
/// answers reads.
enum ServeBenchmark {
    private static let characteristic = BluetoothUUID(0x2A37)

    /// The place where the handler that sends the values runs.
    enum Way: String {
        /// On the global executor, as users write it.
        case handler
        /// On the backend's thread.
        case loop
        /// No values are sent: the central reads, and then subscribes and ends the subscription.
        case reads
    }

    /// - Parameters:
    ///   - count: how many values are sent, each with its number in the first 4 bytes.
    ///   - rate: how many a second; 0 for as many as are taken.
    @concurrent
    static func run(_ way: Way, count: UInt32, rate: Int) async throws {
        let backend = BlueZPeripheral.bluez()
        let host = try await PeripheralHost(backend: backend)
        let executor = way == .loop ? backend.taskExecutor : nil
        let reads = Reads()
        let definition = PeripheralDefinition(
            advertisement: Advertisement(localName: "Strap", serviceUUIDs: [BluetoothUUID(0x180D)]),
            services: [
                ServiceDefinition(
                    BluetoothUUID(0x180D),
                    characteristics: [
                        CharacteristicDefinition(
                            characteristic, [.read, .notify],
                            onRead: { _ in value(reads.number.add(1, ordering: .relaxed).oldValue) },
                            onSubscribe: { notifier in
                                if way == .reads { return }
                                try await withTaskExecutorPreference(executor) {
                                    try await send(count, rate, notifier)
                                }
                            })
                    ])
            ])
        let events = await host.events()
        try await host.withServed(definition, isAdvertised: false) { _ in
            // Until the subscription ends, when the central has every value, or until bluetoothd ends, when it has not.
            for try await event in events {
                switch event {
                case .unsubscribed:
                    if way == .reads { reads.report(count) }
                    return
                case .servicesLost, .failed:
                    print(0, "incomplete", 0, 0)
                    exit(70)
                default: break
                }
            }
        }
        await host.shutDown()
    }

    private final class Reads: Sendable {
        let number = Atomic<UInt32>(0)

        func report(_ count: UInt32) {
            let answered = number.load(ordering: .relaxed)
            print(answered, answered == count ? "complete" : "incomplete", 0, 0)
        }
    }

    private static func send(_ count: UInt32, _ rate: Int, _ notifier: Notifier) async throws {
        var measurement = Measurement()
        measurement.start()
        let start = ContinuousClock.now
        for number in 0..<count {
            if rate > 0 {
                // Late values follow at once.
                let due = start + .nanoseconds(1_000_000_000 / rate * Int(number))
                if due > .now { try await notifier.clock.sleep(for: due - .now) }
            }
            await notifier.notify(value(number))
        }
        measurement.count = count
        // Until this task is cancelled, when the central has all values.
        while !Task.isCancelled { try? await notifier.clock.sleep(for: .seconds(60)) }
        measurement.report(total: count)
    }

    private static func value(_ number: UInt32) -> [UInt8] {
        var value = [UInt8](repeating: 0x5A, count: 20)
        for index in 0..<4 { value[index] = UInt8(truncatingIfNeeded: number >> (8 * index)) }
        return value
    }
}
