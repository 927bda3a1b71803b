internal import BLE
internal import Waiting

extension ObjectTree {
    /// A `Device1` of bluetoothd, as last reported.
    struct DeviceObject: Equatable {
        /// The address with which the device was first received.
        let id: Peripheral.ID
        /// The address that it has now. Nil until it is reported.
        private(set) var identity: DeviceID?
        var adapter = ""
        var advertisement = Advertisement()
        /// Whether the device has the property `RSSI`, with any value: it is in range, and not only cached.
        var isHeard = false
        /// What is known from the kernel.
        private(set) var reception = Reception.none
        var isConnected = false
        /// The link, if there is one, of whichever program.
        fileprivate(set) var link: LinkIdentity?
        var areServicesResolved = false
        var isPaired = false
        /// Whether the keys of a pairing are stored. False before 5.65, which does not report this.
        var isBonded = false
        var isTrusted = false
        var isBlocked = false
        /// Why the link is about to end, if bluetoothd has reported it.
        var linkEnd: Boxed<LinkEnd>?

        init(id: Peripheral.ID) { self.id = id }

        /// The address that it has now. Empty until it is reported.
        var address: String { identity?.rawValue ?? "" }
    }

    /// What the kernel has told of a device's advertisements.
    enum Reception {
        /// Nothing that is still known.
        case none
        /// The last advertisement.
        case current
        /// The last advertisement, but bluetoothd has reported something since.
        case mixed
    }

    /// What distinguishes a link from earlier and later ones of the same device.
    final class LinkIdentity: Sendable, Equatable {
        static func == (one: LinkIdentity, other: LinkIdentity) -> Bool { one === other }
    }

    /// The effects of an update of a device.
    struct DeviceUpdate {
        /// Whether an advertisement was received.
        fileprivate(set) var isHeard = false
        /// Whether the link or the services have changed.
        fileprivate(set) var hasNewState = false
        fileprivate(set) var hasPaired = false
        fileprivate(set) var hasDisconnected = false
        /// Why the link has ended.
        fileprivate(set) var linkEnd: LinkEnd?
        /// The former address and adapter, if they have changed.
        fileprivate(set) var formerIdentity: (address: DeviceID?, adapter: String)?

        /// Whether the update is only an advertisement.
        var isPlain: Bool { !hasNewState && !hasPaired && !hasDisconnected }
    }
}

extension ObjectTree.DeviceObject {
    /// Applies properties.
    mutating func update(_ properties: DeviceProperties) -> ObjectTree.DeviceUpdate {
        var update = ObjectTree.DeviceUpdate()
        let (wasConnected, wereResolved, wasPaired) = (isConnected, areServicesResolved, isPaired)
        // Compared with the new one, unless the message itself shows that an advertisement was received.
        let former = properties.isAdvertisement ? nil : advertisement
        if properties.address.map({ $0 != identity }) ?? false || properties.adapter.map({ $0 != adapter }) ?? false {
            update.formerIdentity = (identity, adapter)
            identity = properties.address ?? identity
            adapter = properties.adapter ?? adapter
        }
        updateAdvertisement(properties)
        if let value = properties.isConnected {
            isConnected = value
            if !value { link = nil } else if link == nil { link = ObjectTree.LinkIdentity() }
        }
        if let value = properties.areServicesResolved { areServicesResolved = value }
        if let value = properties.isPaired { isPaired = value }
        if let value = properties.isBonded { isBonded = value }
        if let value = properties.isTrusted { isTrusted = value }
        if let value = properties.isBlocked { isBlocked = value }
        // A device that is only cached has no RSSI, and properties that are read over a connection are not an
        // advertisement.
        update.isHeard =
            isHeard && (properties.isAdvertisement || !isConnected && former.map { $0 != advertisement } ?? false)
        update.hasNewState = wasConnected != isConnected || wereResolved != areServicesResolved
        update.hasPaired = !wasPaired && isPaired
        update.hasDisconnected = wasConnected && !isConnected
        if !isConnected, let end = linkEnd {
            if wasConnected { update.linkEnd = end.value }
            linkEnd = nil
        }
        return update
    }

    /// Applies an advertisement that the kernel has received. Returns what is known of the device, or nil if the
    /// advertisement has another address.
    ///
    /// ``isHeard`` does not change: bluetoothd reports the end of signal strengths that it has reported, and of no
    /// others.
    mutating func receive(_ received: ReceivedAdvertisement) -> (id: Peripheral.ID, advertisement: Advertisement)? {
        guard hasAddress(of: received.sender) else { return nil }
        advertisement.rssi = Int(received.rssi)
        // They are usually the same again.
        if reception != .current || !advertisement.hasStructures(of: received.data) {
            reception = .current
            advertisement.merge(Advertisement(received: Array(received.data)))
        }
        return (id, advertisement)
    }

    /// Whether the address is that of a sender. The bits of a public address can also be a random address, which is
    /// that of another device.
    private func hasAddress(of sender: ReceivedAdvertisement.Sender) -> Bool {
        guard let identity else { return false }
        if identity.address == sender.address {
            return advertisement.addressType.map { ($0 == .random) == sender.isRandom } ?? true
        }
        // The private address with which it was first received, if the kernel does not have the key that resolves it.
        return sender.isRandom && id.address == sender.address
    }

    /// Whether ``endReception()`` has an effect.
    var needsEndOfReception: Bool { reception != .none || !isHeard && advertisement.rssi != nil }

    /// Forgets the structures, without which later advertisements arrive, and the signal strength, unless bluetoothd
    /// has reported one, whose end it also reports.
    mutating func endReception() {
        if reception != .none { advertisement.structures = [] }
        reception = .none
        if !isHeard { advertisement.rssi = nil }
    }

    private mutating func updateAdvertisement(_ properties: DeviceProperties) {
        if reception == .current, properties.isAboutAdvertisement { reception = .mixed }
        // The advertised name takes precedence over the name that is read on a connection. BlueZ shows the latest of
        // the two.
        if let value = properties.name, !isConnected || advertisement.localName == nil {
            advertisement.localName = value
        }
        if let value = properties.rssi {
            // The kernel's is newer.
            if reception == .none { advertisement.rssi = value }
            isHeard = true
        }
        if let value = properties.txPower { advertisement.txPower = value }
        if let value = properties.uuids { advertisement.services = value }
        if let value = properties.manufacturerData { advertisement.companyData = value }
        if let value = properties.serviceData { advertisement.dataOfServices = value }
        if let value = properties.appearance { advertisement.appearance = Appearance(rawValue: value) }
        if let value = properties.deviceClass { advertisement.deviceClass = value }
        if let value = properties.addressType { advertisement.addressType = value }
        if let value = properties.flags { advertisement.flags = value }
        if let value = properties.structures { advertisement.adopt(value) }
        if properties.lostRSSI {
            if reception == .none { advertisement.rssi = nil }
            isHeard = false
        }
        if properties.lostTxPower { advertisement.txPower = nil }
    }
}
