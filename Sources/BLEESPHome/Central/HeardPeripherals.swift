package import BLE

/// The peripherals whose advertisements a proxy has sent, with what they advertise.
package struct HeardPeripherals {
    private struct Entry {
        let id: DeviceID
        var addressType: UInt32
        /// The data of the last advertisement, which is usually the same again.
        var data: [UInt8]
        var advertisement: Advertisement
        /// When it was heard last, in advertisements.
        var lastHeard: Int

        /// Adds a further advertisement. One access for all, because each looks for the entry.
        mutating func receive(_ raw: RawAdvertisement, rssi: Int, count: Int) -> (DeviceID, Advertisement) {
            lastHeard = count
            if data != raw.data || addressType != raw.addressType {
                (data, addressType) = (raw.data, raw.addressType)
                advertisement.merge(Advertisement(received: raw.data))
                advertisement.addressType = raw.addressType == 0 ? .public : .random
            }
            advertisement.rssi = rssi
            return (id, advertisement)
        }
    }

    /// The maximum number of peripherals. Of more, the half that was heard last is kept.
    private let capacity: Int
    private var entries: [UInt64: Entry] = [:]
    private var count = 0

    package init(capacity: Int = 4096) { self.capacity = capacity }

    /// The maximum number of bytes of a chain of advertisements.
    private static let maximumLength = 1650

    /// Adds an advertisement. Returns what is known of the peripheral, and nil for a number that is not an address and
    /// for data that is longer than a radio receives.
    package mutating func receive(_ raw: RawAdvertisement) -> (id: DeviceID, advertisement: Advertisement)? {
        guard raw.data.count <= Self.maximumLength else { return nil }
        count += 1
        // 127: the strength is not available. A proxy of this package sends −127, which no radio measures.
        let rssi = raw.rssi == -127 ? 127 : Int(raw.rssi)
        if let index = entries.index(forKey: raw.address) {
            return entries.values[index].receive(raw, rssi: rssi, count: count)
        }
        guard let address = DeviceAddress(raw.address) else { return nil }
        var advertisement = Advertisement(received: raw.data)
        advertisement.addressType = raw.addressType == 0 ? .public : .random
        advertisement.rssi = rssi
        let entry = Entry(
            id: address.id, addressType: raw.addressType, data: raw.data, advertisement: advertisement, lastHeard: count
        )
        entries[raw.address] = entry
        return (entry.id, advertisement)
    }

    /// Removes the peripherals that were not heard for longest, if there are too many. Returns them.
    package mutating func removeExcess(keeping kept: (UInt64) -> Bool) -> [DeviceID] {
        guard entries.count > capacity else { return [] }
        let removed = entries.filter { !kept($0.key) }.sorted { $0.value.lastHeard < $1.value.lastHeard }
            .prefix(entries.count - capacity / 2)
        for (address, _) in removed { entries[address] = nil }
        return removed.map(\.value.id)
    }

    /// The type of a peripheral's address. Nil if it was not heard.
    package func addressType(_ address: UInt64) -> UInt32? { entries[address]?.addressType }

    package func forEach(_ body: (UInt64, DeviceID, Advertisement) -> Void) {
        for (address, entry) in entries { body(address, entry.id, entry.advertisement) }
    }

    package mutating func remove(_ address: UInt64) { entries[address] = nil }
}
