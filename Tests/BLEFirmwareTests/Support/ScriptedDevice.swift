import BLE
import BLEFirmware
import BLESimulation
import BLETesting

/// A device that answers each request as a test says, with packets of any content.
final class ScriptedDevice: Sendable {
    /// The requests, in the order of their arrival.
    let requests = SharedValue<[SMPFrame]>([])
    private let reassembler = SharedValue(SMPReassembler(maximumLength: 4096))
    private let notifier = SharedValue<Notifier?>(nil)
    private let answer: @Sendable (SMPFrame) async -> [[UInt8]]

    init(_ answer: @escaping @Sendable (SMPFrame) async -> [[UInt8]]) { self.answer = answer }

    var definition: PeripheralDefinition {
        let point = CharacteristicDefinition(
            Characteristic.smp.uuid, [.writeWithoutResponse, .notify],
            onWrite: { (packet, _) throws(ATTError) in
                for result in self.reassembler.change({ $0.append(packet) }) {
                    guard let frame = try? result.get() else { continue }
                    self.requests.change { $0.append(frame) }
                    for packet in await self.answer(frame) { await self.notifier.value?.notify(packet) }
                }
            },
            onSubscribe: { notifier in
                self.notifier.change { $0 = notifier }
                self.reassembler.change { $0.reset() }
                await untilCancelled()
            })
        return PeripheralDefinition(
            advertisement: Advertisement(localName: "Scripted", rssi: -50, serviceUUIDs: [.smp]),
            services: [ServiceDefinition(.smp, characteristics: [point])])
    }
}

extension SMPFrame {
    /// The response to a request.
    func response(_ fields: CBORMap, version: SMPVersion? = nil) -> [UInt8] {
        SMPFrame(
            header.operation.response!, header.command, sequence: header.sequence, fields,
            version: version ?? header.version
        ).bytes
    }

    /// A vector as the response to a request.
    func response(vector: [UInt8]) -> [UInt8] {
        var bytes = vector
        bytes[6] = header.sequence
        return bytes
    }
}

extension FirmwareImage {
    /// An image whose program has random bytes, which are the same for the same seed.
    static func random(_ count: Int, version: FirmwareVersion = FirmwareVersion(2, 0, 0), seed: UInt64 = 1) -> Self {
        var random = SeededGenerator(seed: seed)
        return FirmwareImage(
            version: version, program: (0..<count).map { _ in .random(in: 0...255, using: &random) })
    }
}

/// What a device receives of an upload.
final class UploadLog: Sendable {
    private let reassembler = SharedValue(SMPReassembler(maximumLength: 65543))
    /// The ranges of the chunks, in the order of their arrival.
    let chunks = SharedValue<[Range<Int>]>([])
    /// The lengths of the packets.
    let packets = SharedValue<[Int]>([])

    /// Returns the service, whose requests are recorded.
    func recording(_ service: ServiceDefinition) -> ServiceDefinition {
        var service = service
        let onWrite = service.characteristics[0].onWrite
        service.characteristics[0].onWrite = { (packet, request) throws(ATTError) in
            self.packets.change { $0.append(packet.count) }
            let frames = self.reassembler.change { $0.append(packet) }
            for case .success(let frame) in frames {
                guard let data = frame.fields["data"]?.bytes, let offset = frame.fields["off"]?.integer else {
                    continue
                }
                self.chunks.change { $0.append(offset..<offset + data.count) }
            }
            try await onWrite?(packet, request)
        }
        let onDisconnect = service.onDisconnect
        service.onDisconnect = { central in
            self.reassembler.change { $0.reset() }
            await onDisconnect?(central)
        }
        return service
    }

    /// The number of bytes that arrived more than once.
    var repeatedBytes: Int {
        let chunks = chunks.value
        return chunks.reduce(0) { $0 + $1.count } - (chunks.map(\.upperBound).max() ?? 0)
    }
}

extension SharedValue<Int> {
    /// Adds 1, and returns the result.
    @discardableResult func next() -> Int {
        change { value in
            value += 1
            return value
        }
    }
}
