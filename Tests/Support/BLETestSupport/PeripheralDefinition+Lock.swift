public import BLE

extension PeripheralDefinition {
    /// A peripheral called "Lock", with characteristics that only a paired central can use.
    public static func lock() -> PeripheralDefinition {
        PeripheralDefinition(
            advertisement: Advertisement(localName: "Lock", rssi: -40),
            services: [
                ServiceDefinition(
                    BluetoothUUID(0xFF00),
                    characteristics: [
                        CharacteristicDefinition(
                            Characteristic.lockSecret.key.characteristic, .read, security: .encrypted, value: [1]),
                        CharacteristicDefinition(
                            Characteristic.lockSealed.key.characteristic, [.read, .notify], security: .authenticated,
                            value: [2]),
                        CharacteristicDefinition(
                            Characteristic.lockSetting.key.characteristic, .write, security: .encrypted),
                    ])
            ])
    }
}

extension Characteristic<[UInt8]> {
    /// A value that a paired central can read: 1.
    public static let lockSecret = Characteristic(BluetoothUUID(0xFF01))
    /// A value that a central can read after it has paired with a number that was compared or typed: 2. It notifies,
    /// too.
    public static let lockSealed = Characteristic(BluetoothUUID(0xFF02))
    /// A value that a paired central can write.
    public static let lockSetting = Characteristic(BluetoothUUID(0xFF03))
}
