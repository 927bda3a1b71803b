import Testing
import BLE
import BLEFeatures
import BLESimulation
import BLETestSupport

/// A device on a simulated radio that writes down what is written to it, and says what the test tells it to.
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
    ///   - answer: what it notifies for each request, at once; by default nothing.
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

    /// What has been written to it.
    var requests: [[UInt8]] { written.value }

    /// Returns once so many requests have been written.
    func asked(_ count: Int) async { await until { written.value.count >= count } }

    /// Refuses what is written from now on; nil: takes it.
    func refuse(_ error: ATTError?) { attError.change { $0 = error } }

    func notify(_ packet: [UInt8]) async { await grip.notify(packet, from: Self.reply.characteristic) }

    /// A reply without payload, or with one, as a device sends it.
    static func reply(_ command: UInt16, _ payload: [UInt8] = []) -> [UInt8] {
        frame(2, command, payload)
    }

    static func frame(_ type: UInt8, _ command: UInt16, _ payload: [UInt8] = [], isEncrypted: UInt8 = 0) -> [UInt8] {
        [UInt8(5 + payload.count), type, UInt8(command >> 8), UInt8(command & 0xFF), isEncrypted] + payload
    }
}
