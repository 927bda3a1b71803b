import Testing
import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport

/// A simulated device with records. A test decides how it responds to requests for them.
final class RecordDevice: Sendable {
    /// The requests that it has received.
    let requests = SharedValue<[RecordAccessMessage]>([])
    private let held = SharedValue<SimulatedPeripheral?>(nil)

    typealias RequestHandler = @Sendable (RecordDevice, RecordAccessMessage) async throws -> Void

    /// The device in a world, and its peripheral on the central.
    static func make(
        _ world: SimulatedWorld, _ service: BluetoothUUID, sending characteristics: [BluetoothUUID],
        others: [CharacteristicDefinition] = [], onRequest: @escaping RequestHandler
    ) async throws -> (device: RecordDevice, peripheral: Peripheral) {
        let device = RecordDevice()
        let controlPoint = CharacteristicDefinition(
            BluetoothUUID(0x2A52), [.write, .indicate],
            onWrite: { (bytes, _) throws(ATTError) in
                do {
                    let message = try RecordAccessMessage(bytes: bytes)
                    device.requests.change { $0.append(message) }
                    try await onRequest(device, message)
                } catch {
                    throw error as? ATTError ?? .unlikelyError
                }
            })
        let (peripheral, grip) = try await world.add(
            PeripheralDefinition(
                advertisement: Advertisement(rssi: -50, serviceUUIDs: [service]),
                services: [
                    ServiceDefinition(
                        service,
                        characteristics: characteristics.map { CharacteristicDefinition($0, .notify) } + others
                            + [controlPoint])
                ]))
        device.held.change { $0 = grip }
        return (device, peripheral)
    }

    var grip: SimulatedPeripheral { held.value! }

    func send<Value: ValueCodable>(_ value: Value, from characteristic: Characteristic<Value>) async throws {
        await grip.notify(try value.encoded(), from: characteristic.key.characteristic)
    }

    func answer(_ message: RecordAccessMessage) async throws {
        await grip.notify(try message.encoded(), from: BluetoothUUID(0x2A52))
    }

    func answer(_ request: RecordAccessMessage, _ result: RecordAccessResult) async throws {
        try await answer(.response(to: request.opcode, result))
    }

    /// Returns once there are no subscribers, neither to these nor to the control point.
    func untilUnsubscribed(_ characteristics: [BluetoothUUID]) async {
        for characteristic in characteristics + [BluetoothUUID(0x2A52)] {
            await until { await grip.subscriberCount(of: characteristic) == 0 }
        }
    }
}
