import BLE
import BLETestSupport

/// A peripheral that advertises every 100 ms, and notifies.
enum Gauge {
    static let value = Characteristic<[UInt8]>(BluetoothUUID(0xFFE1))
    static let command = Characteristic<[UInt8]>(BluetoothUUID(0xFFE2))

    /// - Parameter written: gets what is written to ``command``.
    static func definition(_ written: SharedValue<[[UInt8]]> = SharedValue([])) -> PeripheralDefinition {
        PeripheralDefinition(
            advertisement: Advertisement(localName: "Gauge", rssi: -40), advertisingInterval: .milliseconds(100),
            services: [
                ServiceDefinition(
                    BluetoothUUID(0xFFE0),
                    characteristics: [
                        CharacteristicDefinition(value.key.characteristic, [.read, .write, .notify], value: [1]),
                        CharacteristicDefinition(
                            command.key.characteristic, .writeWithoutResponse,
                            onWrite: { (value, _) throws(ATTError) in written.change { $0.append(value) } }),
                    ])
            ])
    }
}
