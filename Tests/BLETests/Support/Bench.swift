import BLESimulation
import BLETestSupport
import Testing

@testable import BLE

/// A central on a scripted backend, on a clock that the test moves, and a peripheral with two services.
struct Bench {
    let clock = ManualClock()
    let backend = ScriptedBackend()
    let central: Central
    let strap: Peripheral

    static let battery = BluetoothUUID(0x180F)
    static let vendor = BluetoothUUID(0xFF00)
    /// Handle 2: read and notify, with descriptors at 4 and 5.
    static let level = Characteristic<UInt8>(BluetoothUUID(0x2A19), service: battery)
    /// Handle 11: write with and without response.
    static let command = Characteristic<[UInt8]>(BluetoothUUID(0xFF01), service: vendor)
    /// Handle 14: read, write and indicate.
    static let setting = Characteristic<[UInt8]>(BluetoothUUID(0xFF02), service: vendor)

    static let database = GATTDatabase(services: [
        GATTService(
            uuid: battery, handle: 1,
            characteristics: [
                GATTCharacteristic(
                    uuid: level.key.characteristic, handle: 2, properties: [.read, .notify],
                    descriptors: [
                        GATTDescriptor(uuid: BluetoothUUID(0x2902), handle: 4),
                        GATTDescriptor(uuid: BluetoothUUID(0x2901), handle: 5),
                    ])
            ]),
        GATTService(
            uuid: vendor, handle: 10,
            characteristics: [
                GATTCharacteristic(
                    uuid: command.key.characteristic, handle: 11, properties: [.write, .writeWithoutResponse]),
                GATTCharacteristic(
                    uuid: setting.key.characteristic, handle: 14, properties: [.read, .write, .indicate]),
            ]),
    ])

    /// - Parameter startsOperations: whether the backend starts operations on attributes at once.
    init(startsOperations: Bool = false) async throws {
        await backend.set(Self.database)
        if startsOperations { await backend.startOperations() }
        central = try await Central(backend: backend, configuration: .quiet(clock: clock))
        strap = central.peripheral(Peripheral.ID(rawValue: "strap"))
    }

    /// Another peripheral, with the same services.
    var lamp: Peripheral { central.peripheral(Peripheral.ID(rawValue: "lamp")) }

    /// An error for tests.
    static func error(_ code: BLEError.Code) -> BLEError { BLEError(code, "scripted") }

    /// The link to the strap ends by itself.
    func dropLink() async { await backend.emit(.linkEnded(strap.id, Self.error(.disconnected))) }

    /// Keeps the link to the strap up, without pauses if the test is not about them.
    func maintain(_ initial: Duration = .zero) async throws {
        try await strap.setConnectionPolicy(
            .maintained(backoff: Backoff(initial: initial, factor: 2, maximum: .seconds(4))))
    }

    /// Lets other tasks run for a while, in which nothing is expected to happen.
    func settle() async { for _ in 0..<200 { await Task.yield() } }

    /// Returns once that many callers wait for the link to the strap, or for its end.
    func callers(_ count: Int) async { await until { await central.callerCount(strap.id) == count } }
}

extension Central {
    /// The number of callers that wait for the link to a peripheral, or for its end.
    fileprivate func callerCount(_ id: Peripheral.ID) -> Int {
        // The numbers of callers begin at 1, and a test has few.
        links[id]?.outcomes(of: Array(1...1000)).count ?? 0
    }
}

extension Central {
    /// The number of peripherals of which something is kept.
    var linkCount: Int { links.count }

    /// Whether there is a link that nothing uses.
    func isUnused(_ id: Peripheral.ID) -> Bool { links[id]?.isUnused == true }
}
