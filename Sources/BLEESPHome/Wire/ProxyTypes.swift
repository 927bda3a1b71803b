package import BLE

/// A version of the native API.
package struct APIVersion: Hashable, Sendable, Comparable {
    package var major: UInt32
    package var minor: UInt32

    package init(_ major: UInt32, _ minor: UInt32) { (self.major, self.minor) = (major, minor) }

    /// The version that this package speaks: the names of its messages are those of 1.14.
    package static let current = APIVersion(1, 14)
    /// The first version whose clients know short UUIDs.
    package static let shortUUIDs = APIVersion(1, 12)

    package static func < (one: APIVersion, other: APIVersion) -> Bool {
        (one.major, one.minor) < (other.major, other.minor)
    }
}

/// What a proxy can do.
package struct ProxyFeatures: OptionSet, Hashable, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    package static let passiveScan = ProxyFeatures(rawValue: 1)
    package static let connections = ProxyFeatures(rawValue: 2)
    /// The client remembers services, and writes the Client Characteristic Configuration itself.
    package static let remoteCaching = ProxyFeatures(rawValue: 4)
    package static let pairing = ProxyFeatures(rawValue: 8)
    package static let cacheClearing = ProxyFeatures(rawValue: 16)
    package static let rawAdvertisements = ProxyFeatures(rawValue: 32)
    package static let scannerState = ProxyFeatures(rawValue: 64)
    package static let connectionParameters = ProxyFeatures(rawValue: 128)
}

/// What a proxy says of itself.
package struct ProxyInfo: Hashable, Sendable {
    package var name = ""
    package var mac = ""
    package var version = ""
    package var model = ""
    package var projectName = ""
    package var projectVersion = ""
    package var manufacturer = ""
    package var friendlyName = ""
    package var features: ProxyFeatures = []
    package var bluetoothMAC = ""
    package var isEncryptionSupported = false

    package init() {}
}

/// An advertisement as received: the advertising data, followed by that of the scan response.
package struct RawAdvertisement: Hashable, Sendable {
    package var address: UInt64
    /// In dBm.
    package var rssi: Int32
    /// 0 for a public address, 1 for a random one.
    package var addressType: UInt32
    package var data: [UInt8]

    package init(address: UInt64, rssi: Int32, addressType: UInt32, data: [UInt8]) {
        (self.address, self.rssi, self.addressType, self.data) = (address, rssi, addressType, data)
    }
}

package enum ScannerState: UInt32, Sendable {
    case idle, starting, running, failed, stopping, stopped
}

package enum ScannerMode: UInt32, Sendable {
    case passive, active
}

package enum DeviceRequest: UInt32, Sendable {
    case connect, disconnect, pair, unpair, connectWithCache, connectWithoutCache, clearCache
}

/// The connection slots of a proxy.
package struct ProxySlots: Hashable, Sendable {
    package var free: UInt32
    package var limit: UInt32
    /// The peripherals that hold the others.
    package var allocated: [UInt64]

    package init(free: UInt32, limit: UInt32, allocated: [UInt64] = []) {
        (self.free, self.limit, self.allocated) = (free, limit, allocated)
    }
}

/// A service as a proxy describes it.
package struct ProxyService: Hashable, Sendable {
    package struct Descriptor: Hashable, Sendable {
        package var uuid: BluetoothUUID
        package var handle: UInt32

        package init(uuid: BluetoothUUID, handle: UInt32) { (self.uuid, self.handle) = (uuid, handle) }
    }

    package struct Characteristic: Hashable, Sendable {
        package var uuid: BluetoothUUID
        /// The handle of the value.
        package var handle: UInt32
        package var properties: UInt32
        package var descriptors: [Descriptor]

        package init(uuid: BluetoothUUID, handle: UInt32, properties: UInt32, descriptors: [Descriptor] = []) {
            (self.uuid, self.handle, self.properties) = (uuid, handle, properties)
            self.descriptors = descriptors
        }
    }

    package var uuid: BluetoothUUID
    package var handle: UInt32
    package var characteristics: [Characteristic]

    package init(uuid: BluetoothUUID, handle: UInt32, characteristics: [Characteristic] = []) {
        (self.uuid, self.handle, self.characteristics) = (uuid, handle, characteristics)
    }
}
