public import BLE

/// The saved entry of a device.
public struct SavedDevice: Sendable, Equatable {
    /// The serial number, twelve lowercase hexadecimal digits.
    public let serial: String
    /// The last known name.
    public var name: String?
    /// The last peripheral that was known to be the device.
    public var peripheral: Peripheral.ID?
    /// The pairing key, if the device is paired.
    public var key: MessageKey?

    /// Creates an entry.
    public init(serial: String, name: String? = nil, peripheral: Peripheral.ID? = nil, key: MessageKey? = nil) {
        self.serial = serial
        self.name = name
        self.peripheral = peripheral
        self.key = key
    }
}

/// Saves devices and their keys.
public protocol DeviceStorage: Sendable {
    /// All devices, in order of their serial numbers. Throws `storageFailed`.
    func all() async throws(BLEError) -> [SavedDevice]
    /// Returns the entry of a device. Throws `storageFailed`.
    func device(_ serial: String) async throws(BLEError) -> SavedDevice?
    /// Changes the entry of a device in one step. `change` receives nil if the device is not saved, and returns nil to
    /// remove it. Throws `storageFailed` or `cancelled`; then nothing has changed.
    func update(
        _ serial: String, _ change: @Sendable (SavedDevice?) -> SavedDevice?
    ) async throws(BLEError)
}

/// A storage in memory, which lasts as long as this object.
public actor MemoryDeviceStorage: DeviceStorage {
    private var devices: [String: SavedDevice]

    /// Creates a storage that contains the given devices.
    public init(_ devices: [SavedDevice] = []) {
        self.devices = Dictionary(devices.map { ($0.serial, $0) }) { $1 }
    }

    /// All devices, in order of their serial numbers.
    public func all() -> [SavedDevice] { devices.values.sorted { $0.serial < $1.serial } }
    /// Returns the entry of a device.
    public func device(_ serial: String) -> SavedDevice? { devices[serial] }
    /// Changes the entry of a device.
    public func update(_ serial: String, _ change: @Sendable (SavedDevice?) -> SavedDevice?) {
        devices[serial] = change(devices[serial])
    }
}

/// The pairing key of one device in a storage.
struct StoredPairingKeys: PairingKeys {
    let serial: String
    let storage: any DeviceStorage

    func key() async throws(BLEError) -> MessageKey? { try await storage.device(serial)?.key }

    func setKey(_ key: MessageKey?) async throws(BLEError) {
        try await storage.update(serial) { [serial] device in
            guard key != nil || device != nil else { return nil }
            var device = device ?? SavedDevice(serial: serial)
            device.key = key
            return device
        }
    }
}
