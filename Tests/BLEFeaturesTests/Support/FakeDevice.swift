import Testing
import BLE
import BLEFeatures
import BLESimulation
import BLETestSupport

/// A device on a simulated radio that records the written values, and sends the notifications that a test gives it.
struct FakeDevice: Sendable {
    static let service = Devices.Configuration.defaultService
    static let request = CharacteristicKey(service: service, characteristic: Devices.Configuration.defaultRequest)
    static let reply = CharacteristicKey(service: service, characteristic: Devices.Configuration.defaultReply)
    static let serial = "010203040506"

    let peripheral: Peripheral
    let grip: SimulatedPeripheral
    private let written: SharedValue<[[UInt8]]>
    private let attError: SharedValue<ATTError?>

    /// - Parameters:
    ///   - answer: the notifications for each request, sent at once; by default none.
    init(
        in world: SimulatedWorld, advertisement: Advertisement? = nil,
        _ answer: @escaping @Sendable ([UInt8]) -> [[UInt8]] = { _ in [] }
    ) async throws {
        let (written, attError) = (SharedValue<[[UInt8]]>([]), SharedValue<ATTError?>(nil))
        let grip = SharedValue<SimulatedPeripheral?>(nil)
        let definition = PeripheralDefinition(
            advertisement: advertisement ?? Self.advertisement(),
            services: [
                ServiceDefinition(
                    Self.service,
                    characteristics: [
                        CharacteristicDefinition(
                            Self.request.characteristic, .write,
                            onWrite: { (bytes, _) throws(ATTError) in
                                if let error = attError.value { throw error }
                                written.change { $0.append(bytes) }
                                for packet in answer(bytes) {
                                    await grip.value?.notify(packet, from: Self.reply.characteristic)
                                }
                            }),
                        CharacteristicDefinition(Self.reply.characteristic, .notify),
                    ])
            ])
        let added = try await world.add(definition)
        grip.change { $0 = added.grip }
        (peripheral, self.grip, self.written, self.attError) = (added.peripheral, added.grip, written, attError)
    }

    static func advertisement(_ data: [UInt8] = [1, 2, 3, 4, 5, 6], name: String = "Fake") -> Advertisement {
        Advertisement(
            localName: name, rssi: -50, serviceUUIDs: [service],
            manufacturerData: [Devices.Configuration.defaultCompany: data])
    }

    static let transactions = TransactionConfiguration(request: request, reply: reply)

    /// The values that have been written to it.
    var requests: [[UInt8]] { written.value }

    /// Returns once that many requests have been written.
    func asked(_ count: Int) async { await until { written.value.count >= count } }

    /// Refuses writes from now on; with nil, accepts them.
    func refuse(_ error: ATTError?) { attError.change { $0 = error } }

    func notify(_ packet: [UInt8]) async { await grip.notify(packet, from: Self.reply.characteristic) }

    /// A device's reply, with or without a payload.
    static func reply(_ command: UInt16, _ payload: [UInt8] = []) -> [UInt8] {
        frame(2, command, payload)
    }

    static func frame(_ type: UInt8, _ command: UInt16, _ payload: [UInt8] = [], isEncrypted: UInt8 = 0) -> [UInt8] {
        [UInt8(5 + payload.count), type, UInt8(command >> 8), UInt8(command & 0xFF), isEncrypted] + payload
    }
}
