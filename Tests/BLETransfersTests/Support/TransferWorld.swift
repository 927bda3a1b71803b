import BLE
import BLESimulation
import BLETesting

@testable import BLETransfers

/// A world with a peripheral that takes part in transfers.
struct TransferWorld {
    let world: SimulatedWorld
    let storage: MemoryTransferStorage
    let peripheral: Peripheral
    let grip: SimulatedPeripheral
    /// The data that the peripheral has received over its characteristics.
    let log: DataLog

    init(
        mtu: Int = 247, files: [String: [UInt8]] = [:], storage other: (any TransferStorage)? = nil,
        configuration: TransferPeripheral.Configuration = .init(), capacity: Int = 1 << 24
    ) async throws {
        storage = MemoryTransferStorage(files: files, capacity: capacity)
        log = DataLog()
        let receiver = TransferPeripheral(other ?? storage, library: storage, configuration: configuration)
        var definition = receiver.definition(name: "Receiver", channel: 0x0080)
        definition.services = definition.services.map(log.recording)
        definition.maximumATTMTU = mtu
        world = try await SimulatedWorld()
        (peripheral, grip) = try await world.add(definition)
    }

    func client(
        _ carrier: TransferCarrier = .characteristics, configuration: TransferClient.Configuration = .init()
    ) -> TransferClient {
        TransferClient(peripheral, over: carrier, configuration: configuration)
    }

    /// Runs `body` while time passes, also for the tasks of the peripheral.
    func whileTimePasses<Value: Sendable>(
        isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Value
    ) async rethrows -> Value {
        try await world.asTimePasses(inSleepsOfAtMost: .seconds(10), body)
    }
}

/// What a peripheral receives of files.
final class DataLog: Sendable {
    let ranges = SharedValue<[Range<Int>]>([])
    let packets = SharedValue<[Int]>([])

    func recording(_ service: ServiceDefinition) -> ServiceDefinition {
        var service = service
        let onWrite = service.characteristics[0].onWrite
        service.characteristics[0].onWrite = { (bytes, request) throws(ATTError) in
            self.packets.change { $0.append(bytes.count) }
            if case .data(let offset, let data)? = (try? TransferPacket(decoding: bytes))?.message {
                self.ranges.change { $0.append(offset..<offset + data.count) }
            }
            try await onWrite?(bytes, request)
        }
        return service
    }

    /// The number of bytes that arrived.
    var count: Int { ranges.value.reduce(0) { $0 + $1.count } }
}

extension [UInt8] {
    /// Random bytes, which are the same for the same seed.
    static func random(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
        var random = SeededGenerator(seed: seed)
        return (0..<count).map { _ in .random(in: 0...255, using: &random) }
    }
}

extension TransferCarrier {
    static let all = [TransferCarrier.characteristics, .channel(0x0080), .publishedChannel]
}
