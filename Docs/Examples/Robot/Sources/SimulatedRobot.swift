import BLE
import BLEBeacons
import BLESimulation
import Synchronization

/// A robot in memory, written from the description of its protocol, not from `RobotCommand`.
final class SimulatedRobot: Sendable {
    private let frames = Mutex<[[UInt8]]>([])
    /// The levels of the battery that a subscriber receives, one after the other.
    private let levels: [UInt8] = [80, 79]

    /// The frames that it has accepted.
    var accepted: [[UInt8]] { frames.withLock { $0 } }

    var definition: PeripheralDefinition {
        PeripheralDefinition(
            advertisement: Advertisement(
                localName: "Robot", rssi: -48, serviceUUIDs: [BluetoothUUID(0xDFB0)],
                serviceData: [BluetoothUUID(0xDFB0): [80, 1, 1, 2, 0x01, 0x2C]]),
            services: [
                ServiceDefinition(
                    BluetoothUUID(0x180A),
                    characteristics: [
                        Self.text(0x2A29, "Classroom Robots"), Self.text(0x2A24, "Robot"), Self.text(0x2A25, "0042"),
                        Self.text(0x2A26, "1.2.300"),
                    ]),
                ServiceDefinition(
                    BluetoothUUID(0x180F),
                    characteristics: [
                        CharacteristicDefinition(
                            BluetoothUUID(0x2A19), [.read, .notify], value: [80],
                            onSubscribe: { [levels] notifier in
                                for level in levels { await notifier.notify([level]) }
                            })
                    ]),
                ServiceDefinition(
                    BluetoothUUID(0x7779),
                    characteristics: [CharacteristicDefinition(BluetoothUUID(0x6783), [.read, .notify], value: [1])]),
                ServiceDefinition(
                    BluetoothUUID(0x6770),
                    characteristics: [
                        CharacteristicDefinition(
                            BluetoothUUID(0x8278), [.read, .write], value: Array("Robbie".utf8) + [0, 0, 0, 0])
                    ]),
                ServiceDefinition(
                    BluetoothUUID(0xDFB0),
                    characteristics: [
                        CharacteristicDefinition(
                            BluetoothUUID(0xDFB1), .writeWithoutResponse,
                            onWrite: { [self] (bytes, _) throws(ATTError) in
                                if Self.isValid(bytes) { frames.withLock { $0.append(bytes) } }
                            }),
                        CharacteristicDefinition(BluetoothUUID(0xDFB2), .notify),
                    ]),
            ])
    }

    private static func text(_ type: UInt32, _ text: String) -> CharacteristicDefinition {
        CharacteristicDefinition(BluetoothUUID(type), .read, value: Array(text.utf8))
    }

    /// Four stars, the number of commands, and for each its id, its body and the sum of the body modulo 256.
    private static func isValid(_ frame: [UInt8]) -> Bool {
        let lengths: [UInt8: Int] = [0x50: 1, 0x10: 5, 0x13: 4, 0x20: 3, 0x16: 6]
        guard frame.count > 4, frame.prefix(4).allSatisfy({ $0 == 0x2A }) else { return false }
        var rest = frame.dropFirst(5)
        for _ in 0..<frame[4] {
            guard let id = rest.popFirst(), let length = lengths[id], rest.count > length else { return false }
            let body = rest.prefix(length)
            rest = rest.dropFirst(length)
            guard rest.popFirst() == body.reduce(0, &+) else { return false }
        }
        return rest.isEmpty
    }
}
