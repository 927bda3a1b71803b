public import BLE

extension PeripheralDefinition {
    /// A peripheral called "Lock", with characteristics for which it must be paired with.
    public static func lock(_ pairing: SimulatedPairing = .justWorks) -> PeripheralDefinition {
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
            ], pairing: pairing)
    }
}

extension Characteristic<[UInt8]> {
    /// The lock's value for whoever is paired: 1.
    public static let lockSecret = Characteristic(BluetoothUUID(0xFF01))
    /// The lock's value for whoever is paired with a number that was compared or typed: 2. It notifies, too.
    public static let lockSealed = Characteristic(BluetoothUUID(0xFF02))
    /// What whoever is paired can write.
    public static let lockSetting = Characteristic(BluetoothUUID(0xFF03))
}
