public import BLE
internal import Synchronization

extension PeripheralDefinition {
    /// A lamp: the service FF00 with the brightness FF01, in percent, which can be read and written, with and without
    /// response. Values above 100 are rejected with the ATT error 0xFF (out of range). An L2CAP channel at 0x0080
    /// returns each packet.
    public static func lamp(name: String = "Simulated Lamp") -> PeripheralDefinition {
        let brightness = Brightness()
        return PeripheralDefinition(
            advertisement: Advertisement(localName: name, rssi: -55, serviceUUIDs: [BluetoothUUID(0xFF00)]),
            services: [
                ServiceDefinition(
                    BluetoothUUID(0xFF00),
                    characteristics: [
                        CharacteristicDefinition(
                            BluetoothUUID(0xFF01), [.read, .write, .writeWithoutResponse],
                            descriptors: [.userDescription("brightness")],
                            onRead: { (_) throws(ATTError) in brightness.value.withLock { $0 } },
                            onWrite: { (value, _) throws(ATTError) in
                                guard value.count == 1 else { throw .invalidAttributeValueLength }
                                guard value[0] <= 100 else { throw ATTError(rawValue: 0xFF) }
                                brightness.value.withLock { $0 = value }
                            })
                    ])
            ],
            channels: [
                ChannelDefinition(0x0080) { channel in
                    for try await packet in channel.packets { try await channel.send(packet) }
                }
            ])
    }

    /// A box whose content, FF11 of the service FF10, can be read on an authenticated link only. Add it with a pairing
    /// that authenticates, such as `.comparison { _ in true }`.
    public static func sealedBox(name: String = "Simulated Box") -> PeripheralDefinition {
        PeripheralDefinition(
            advertisement: Advertisement(localName: name, rssi: -58, serviceUUIDs: [BluetoothUUID(0xFF10)]),
            services: [
                ServiceDefinition(
                    BluetoothUUID(0xFF10),
                    characteristics: [
                        CharacteristicDefinition(
                            BluetoothUUID(0xFF11), .read, security: .authenticated, value: Array("treasure".utf8))
                    ])
            ])
    }

    /// An iBeacon, a RuuviTag (format 5) and a BTHome thermometer, which only advertise.
    static var beacons: [PeripheralDefinition] {
        // The bytes are examples from the specifications of the formats.
        let data: [(String?, [UInt16: String], [BluetoothUUID: String])] = [
            (nil, [0x004C: "0215e2c56db5dffb48d2b060d0f5a71096e00001f002c5"], [:]),
            ("Ruuvi 884F", [0x0499: "0512fc5394c37c0004fffc040cac364200cdcbb8334c884f"], [:]),
            ("Simulated Thermometer", [:], [BluetoothUUID(0xFCD2): "4002ca0903bf13"]),
        ]
        return data.map { name, companies, services in
            PeripheralDefinition(
                advertisement: Advertisement(
                    localName: name, rssi: -75, manufacturerData: companies.mapValues { Hex.bytes($0) ?? [] },
                    serviceData: services.mapValues { Hex.bytes($0) ?? [] }),
                advertisingInterval: .seconds(1), services: [])
        }
    }
}

/// The brightness of a lamp, in percent.
private final class Brightness: Sendable {
    let value = Mutex<[UInt8]>([50])
}
