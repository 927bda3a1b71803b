public import BLE

extension BluetoothUUID {
    /// The Battery service.
    public static let battery = BluetoothUUID(0x180F)
}

extension Characteristic where Value == UInt8 {
    /// The battery's charge in percent, 0 to 100 (Battery Service 1.1, section 3.1).
    public static var batteryLevel: Self {
        Characteristic(.percentage, BluetoothUUID(0x2A19), service: .battery)
    }
}

extension ValueCoding where Value == UInt8 {
    /// One byte from 0 to 100; more is reserved and throws `invalidValue`.
    static var percentage: Self {
        ValueCoding(
            decode: { (bytes) throws(BLEError) in
                var reader = ValueReader(bytes)
                let value = try reader.uint8()
                guard value <= 100 else { throw BLEError(.invalidValue, "\(value) is no percentage") }
                return value
            }, encode: { [$0] })
    }
}

/// The Battery service on a peripheral.
public struct Battery: Sendable {
    /// The device with the battery.
    public let peripheral: Peripheral

    /// The service on `peripheral`. Nothing is sent yet.
    public init(_ peripheral: Peripheral) {
        self.peripheral = peripheral
    }

    /// The charge in percent, 0 to 100. Connects and discovers as needed.
    public func level() async throws(BLEError) -> Int {
        Int(try await peripheral.read(.batteryLevel))
    }

    /// The charge in percent whenever the device notifies it; `notSupported` when it does not.
    public func levels() async throws(BLEError) -> NotificationStream<UInt8> {
        try await peripheral.notifications(.batteryLevel)
    }
}
