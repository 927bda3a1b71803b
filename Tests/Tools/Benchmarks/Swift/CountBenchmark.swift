internal import BLE
internal import BLEBlueZ
internal import Glibc

/// Counts what the real bluetoothd's peers send, and prints the number at each marker: the number 0xFFFFFFFF at the
/// beginning of the manufacturer data, or of the value.
enum CountBenchmark {
    enum Kind: String {
        case advertisements, notifications, socket
        /// Advertisements from the kernel's management socket.
        case kernel
    }

    private static let company: UInt16 = 0xFFFF

    /// Counts until the process is ended. `characteristic` is the UUID of the one that notifies.
    @concurrent
    static func run(_ kind: Kind, _ characteristic: BluetoothUUID? = nil) async throws {
        let source: BlueZCentral.AdvertisementSource = kind == .kernel ? .managementSocket : .bluetoothd
        try await withCentral(backend: .bluez(advertisements: source)) { central in
            var counter = Counter()
            guard let characteristic else {
                for try await event in central.discoveryEvents(duplicates: true, overflow: .fail(capacity: 1 << 16)) {
                    switch event {
                    case .found(let discovery), .updated(let discovery):
                        if let data = discovery.advertisement.manufacturerData[company] { counter.take(data) }
                    case .lost, .waiting: break
                    }
                }
                return
            }
            let delivery: NotificationDelivery = kind == .socket ? .socket : .standard
            let values = try await central.peripheral(Benchmarks.peripheral).notifications(
                Characteristic<[UInt8]>(characteristic), delivery: delivery, overflow: .fail(capacity: 1 << 16))
            for try await value in values { counter.take(value) }
        }
    }

    private struct Counter {
        private var count = 0

        mutating func take(_ bytes: [UInt8]) {
            guard bytes.count >= 4, Measurement.uint32(bytes, at: 0) == .max else {
                count += 1
                return
            }
            print(count)
            fflush(nil)
        }
    }
}
