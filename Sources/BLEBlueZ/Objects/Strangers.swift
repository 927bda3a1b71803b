internal import BLE
internal import Waiting

/// What the kernel has heard of devices without an object of bluetoothd's.
///
/// Anyone can send with any number of addresses, so there is a maximum number of them. Of more, those that were heard
/// last are kept: at least half of the maximum.
struct Strangers: Sendable {
    typealias Sender = ReceivedAdvertisement.Sender

    /// Those that were heard since the last generation was full.
    private var recent: [Sender: Boxed<ObjectTree.DeviceObject>] = [:]
    /// Of the others, those that were heard since the generation before.
    private var former: [Sender: Boxed<ObjectTree.DeviceObject>] = [:]
    private let generation: Int
    /// The adapter with which they were heard.
    private var adapter: UInt16?
    /// Those that are too many, or were heard with another adapter, until they are taken.
    private var forgotten: [Sender] = []

    /// - Parameter capacity: the maximum number of devices.
    init(capacity: Int = 4096) { generation = max(1, capacity / 2) }

    var count: Int { recent.count + former.count }

    /// Applies an advertisement. Returns what is known of its sender.
    mutating func receive(_ received: ReceivedAdvertisement) -> (id: Peripheral.ID, advertisement: Advertisement)? {
        if received.adapter != adapter {
            forgotten += Array(recent.keys) + Array(former.keys)
            (recent, former, adapter) = ([:], [:], received.adapter)
        }
        if let index = recent.index(forKey: received.sender) {
            return recent.values[index].value.receive(received)
        }
        var device = former.removeValue(forKey: received.sender) ?? Boxed(ObjectTree.DeviceObject(received.sender))
        let heard = device.value.receive(received)
        insert(device, received.sender)
        return heard
    }

    /// Adds what was heard of a device whose object was removed. Does nothing for one that is not an address.
    mutating func insert(_ device: Boxed<ObjectTree.DeviceObject>, adapter: UInt16) {
        guard adapter == self.adapter ?? adapter, let address = device.identity?.address else { return }
        self.adapter = adapter
        let sender = Sender(address: address, isRandom: device.advertisement.addressType != .public)
        former[sender] = nil
        // The object may have had another id: the private address with which it was first received.
        var stranger = ObjectTree.DeviceObject(sender)
        stranger.advertisement = device.advertisement
        insert(Boxed(stranger), sender)
    }

    private mutating func insert(_ device: Boxed<ObjectTree.DeviceObject>, _ sender: Sender) {
        if recent.count >= generation {
            forgotten += former.keys
            (former, recent) = (recent, [:])
        }
        recent[sender] = device
    }

    /// Forgets a device, which has an object now.
    mutating func remove(_ address: UInt64) {
        for isRandom in [false, true] {
            let sender = Sender(address: address, isRandom: isRandom)
            (recent[sender], former[sender]) = (nil, nil)
        }
    }

    var ids: [DeviceID] { (Array(recent.keys) + Array(former.keys)).map { DeviceID(address: $0.address) } }

    /// Returns those that are not kept any more since the last call.
    mutating func takeForgotten() -> [DeviceID] {
        guard !forgotten.isEmpty else { return [] }
        defer { forgotten = [] }
        return forgotten.map { DeviceID(address: $0.address) }
    }

    /// Whether a device was heard with an adapter.
    func contains(_ address: UInt64, adapter: UInt16) -> Bool {
        adapter == self.adapter
            && [false, true].contains {
                let sender = Sender(address: address, isRandom: $0)
                return recent[sender] != nil || former[sender] != nil
            }
    }
}

extension ObjectTree.DeviceObject {
    fileprivate init(_ sender: ReceivedAdvertisement.Sender) {
        let id = DeviceID(address: sender.address)
        self.init(id: id)
        _ = update(DeviceProperties(address: id, addressType: sender.isRandom ? .random : .public))
    }
}
