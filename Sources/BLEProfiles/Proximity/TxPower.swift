public import BLE

extension BluetoothUUID {
    /// The Tx Power service.
    public static let txPower = BluetoothUUID(0x1804)
}

/// The Tx Power service of a device (Tx Power Service 1.0).
public struct TxPower: Profile {
    /// 0x1804.
    public static let serviceUUID = BluetoothUUID.txPower
    /// The service of the peripheral.
    public let service: PeripheralService

    /// Creates a client for the service. Nothing is sent yet.
    public init(service: PeripheralService) {
        self.service = service
    }

    /// Returns the transmit power on this link in dBm, -100 to 20. Connects and discovers if necessary.
    public func levelDBm() async throws(BLEError) -> Int { Int(try await service.read(.txPowerLevel)) }

    /// Returns the transmit power in dBm whenever it changes. Throws `notSupported` if the device does not notify it.
    public func levelsDBm() async throws(BLEError) -> NotificationStream<Int8> {
        try await service.notifications(.txPowerLevel)
    }
}

extension Characteristic where Value == Int8 {
    /// The transmit power in dBm, -100 to 20. Other numbers are reserved and throw `invalidValue` (section 3.1).
    public static var txPowerLevel: Self {
        Characteristic(
            ValueCoding(
                decode: { (bytes) throws(BLEError) in try checked(Int8(bytes: bytes)) },
                encode: { (level) throws(BLEError) in try checked(level).encoded() }),
            BluetoothUUID(0x2A07), service: .txPower)
    }

    private static func checked(_ level: Int8) throws(BLEError) -> Int8 {
        guard -100...20 ~= level else { throw BLEError(.invalidValue, "\(level) dBm are not in the range -100 to 20") }
        return level
    }
}
