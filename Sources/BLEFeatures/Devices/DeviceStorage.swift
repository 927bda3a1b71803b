public import BLE

/// What is remembered of a device.
public struct SavedDevice: Sendable, Equatable {
    /// The serial number, twelve digits of lower case hexadecimal.
    public let serial: String
    /// What it was called last.
    public var name: String?
    /// The peripheral that it was last.
    public var peripheral: Peripheral.ID?
    /// The pairing key, where there is one.
    public var key: MessageKey?

    /// A device to be remembered.
    public init(serial: String, name: String? = nil, peripheral: Peripheral.ID? = nil, key: MessageKey? = nil) {
        self.serial = serial
        self.name = name
        self.peripheral = peripheral
        self.key = key
    }
}

/// Where devices and their keys are remembered.
public protocol DeviceStorage: Sendable {
    /// All devices, in order of their serial numbers. Throws `storageFailed`.
    func all() async throws(BLEError) -> [SavedDevice]
    /// What is remembered of a device. Throws `storageFailed`.
    func device(_ serial: String) async throws(BLEError) -> SavedDevice?
    /// Changes what is remembered, in one step; nil in, a device that is not known; nil out, forget it. Throws `storageFailed`,
    /// and then nothing has changed.
    func update(
        _ serial: String, _ change: @Sendable (SavedDevice?) -> SavedDevice?
    ) async throws(BLEError)
}

/// Remembers devices for as long as it lives.
public actor MemoryDeviceStorage: DeviceStorage {
    private var devices: [String: SavedDevice]

    /// A storage that knows these.
    public init(_ devices: [SavedDevice] = []) {
        self.devices = Dictionary(devices.map { ($0.serial, $0) }) { $1 }
    }

    /// All devices, in order of their serial numbers.
    public func all() -> [SavedDevice] { devices.values.sorted { $0.serial < $1.serial } }
    /// What is remembered of a device.
    public func device(_ serial: String) -> SavedDevice? { devices[serial] }
    /// Changes what is remembered.
    public func update(_ serial: String, _ change: @Sendable (SavedDevice?) -> SavedDevice?) {
        devices[serial] = change(devices[serial])
    }
}

/// The pairing key of one device of a storage.
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
