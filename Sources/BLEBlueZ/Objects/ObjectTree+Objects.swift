internal import BLE

extension ObjectTree {
    struct AdapterObject: Equatable {
        var address = ""
        /// Whether its identity address is a static random address, as with controllers without an address of their
        /// own.
        var isAddressRandom = false
        var alias = ""
        /// The alias if none has been set.
        var systemName = ""
        var isPowered = false
        var isDiscovering = false
        /// Whether the kernel accepts pairings: while there is an agent, unless another program has set it.
        var isPairable = true
        /// bluetoothd's version, if it reports one.
        var version: BlueZVersion?
    }

    /// The arguments of `Device1.Disconnected`.
    struct LinkEnd: Equatable {
        let reason: String
        let message: String
    }

    struct AttributeObject: Equatable {
        var kind: AttributeKind
        var uuid: BluetoothUUID?
        var isPrimary = true
        var flags: CharacteristicProperties = []
        /// The paths of the services that a service includes.
        var includes: [String] = []
    }

    enum Change: Equatable {
        /// An adapter was added or removed, or has changed.
        case adapter(String)
        /// An advertisement of the device at that path was received.
        case heard(String)
        /// The device's link or services changed.
        case device(String)
        /// The device's link has ended, or the connected device was removed.
        case disconnected(String, address: String, LinkEnd?)
        /// The device has become paired.
        case paired(String)
        /// The device's object was removed.
        case removed(String, address: String)
        /// Attributes of the device were added, removed or changed.
        case attributes(String)

        /// The path of the device that has changed; nil for an adapter.
        var device: String? {
            switch self {
            case .adapter: nil
            case .heard(let path), .device(let path), .disconnected(let path, _, _), .paired(let path),
                .removed(let path, _), .attributes(let path):
                path
            }
        }
    }
}
