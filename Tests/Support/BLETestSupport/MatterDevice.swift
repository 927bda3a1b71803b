public import BLE

/// A simulated Matter device that waits to be commissioned: the service FFF6 with the characteristics of Matter's
/// transport. It answers the handshake when it is subscribed to, and repeats what is written after that.
public actor MatterDevice {
    public static let service = BluetoothUUID(0xFFF6)
    public static let c1 = "18EE2EF5-263D-4559-959F-4F9C429F9D11"
    public static let c2 = "18ee2ef5-263d-4559-959f-4f9c429f9d12"
    public static let c3 = "18ee2ef5263d4559959f4f9c429f9d13"
    public static let handshake: [UInt8] = [0x65, 0x6C, 0x04, 0, 0, 0, 0xF7, 0, 6]
    public static let handshakeAnswer: [UInt8] = [0x65, 0x6C, 0x05, 0xF4, 0, 6]
    /// The longest value that the device accepts, in bytes. Longer ones are rejected.
    public static let longestWrite = 244

    public nonisolated let address: Peripheral.ID
    private let discriminator: UInt16
    private var notifier: Notifier?
    private var isGreeted = false
    public private(set) var written: [[UInt8]] = []

    public init(_ address: Peripheral.ID, discriminator: UInt16 = 0xF00) {
        (self.address, self.discriminator) = (address, discriminator)
    }

    /// What it advertises of FFF6: that it can be commissioned, the discriminator, vendor, product, and that C3 exists.
    public nonisolated var serviceData: [UInt8] {
        [0, UInt8(discriminator & 0xFF), UInt8(discriminator >> 8), 0xF1, 0xFF, 0x00, 0x80, 1]
    }

    private func take(_ value: [UInt8]) async throws(ATTError) {
        written.append(value)
        guard value.count <= Self.longestWrite else { throw ATTError.invalidAttributeValueLength }
        guard value.starts(with: [0x65, 0x6C]) else {
            await notifier?.notify(value)
            return
        }
        // The subscription follows the handshake. One that is there is that of a former link.
        (isGreeted, notifier) = (true, nil)
    }

    private func subscribed(_ notifier: Notifier) async {
        self.notifier = notifier
        await answerHandshake()
    }

    private func answerHandshake() async {
        guard isGreeted, let notifier else { return }
        isGreeted = false
        await notifier.notify(Self.handshakeAnswer)
    }

    public nonisolated var definition: PeripheralDefinition {
        PeripheralDefinition(
            address: address.rawValue,
            advertisement: Advertisement(localName: "MATTER", rssi: -60, serviceData: [Self.service: serviceData]),
            advertisingInterval: .milliseconds(20),
            services: [
                ServiceDefinition(
                    BluetoothUUID(0x180F),
                    characteristics: [CharacteristicDefinition(BluetoothUUID(0x2A19), [.read, .notify], value: [87])]),
                ServiceDefinition(
                    Self.service,
                    characteristics: [
                        CharacteristicDefinition(
                            BluetoothUUID(Self.c1)!, .write,
                            onWrite: { (value, _) throws(ATTError) in try await self.take(value) }),
                        CharacteristicDefinition(
                            BluetoothUUID(Self.c2)!, .indicate, onSubscribe: { await self.subscribed($0) }),
                        CharacteristicDefinition(BluetoothUUID(Self.c3)!, .read, value: [1, 2, 3, 4]),
                    ]),
            ])
    }
}
