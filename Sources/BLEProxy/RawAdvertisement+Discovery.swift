internal import BLE
internal import BLEESPHome

extension RawAdvertisement {
    /// The strength of an advertisement whose strength is not known, in dBm. The clients treat it as the weakest.
    static let unknownStrength: Int32 = -127

    /// Rebuilds what a radio has received. Nil if the peripheral has no address.
    ///
    /// Packets are not available: bluetoothd reports what it has decoded, of all packets received so far.
    /// Docs/Radios.md lists what gets lost.
    init?(_ discovery: Discovery) {
        guard let address = DeviceAddress(discovery.peripheral.id) else { return nil }
        let advertisement = discovery.advertisement
        self.init(
            address: address.rawValue, rssi: advertisement.rssi.map(Int32.init) ?? Self.unknownStrength,
            addressType: advertisement.addressType == .public ? 0 : 1, data: advertisement.structuresForProxy)
    }
}

extension Advertisement {
    /// The AD structures of all properties, up to 1650 bytes. What does not fit into a structure is omitted.
    fileprivate var structuresForProxy: [UInt8] {
        if let data = try? data().encode(limit: .chained) { return data }
        return parts.reduce(into: []) { bytes, part in
            guard let data = try? part.data().encode(limit: .chained),
                bytes.count + data.count <= AdvertisingData.Limit.chained.rawValue
            else { return }
            bytes += data
        }
    }

    /// The number of 128-bit UUIDs that fit into a structure.
    private static let uuidsPerPart = 15

    /// Advertisements with a part of the properties each, in the order of ``data()``.
    private var parts: [Advertisement] {
        func chunks(_ uuids: Set<BluetoothUUID>) -> [Set<BluetoothUUID>] {
            let sorted = uuids.sorted()
            return stride(from: 0, to: sorted.count, by: Self.uuidsPerPart).map {
                Set(sorted[$0..<min($0 + Self.uuidsPerPart, sorted.count)])
            }
        }
        var parts = [Advertisement(flags: flags)]
        parts += chunks(serviceUUIDs).map { Advertisement(serviceUUIDs: $0) }
        parts += chunks(solicitedServiceUUIDs).map { Advertisement(solicitedServiceUUIDs: $0) }
        parts += serviceData.sorted { $0.key < $1.key }.map { Advertisement(serviceData: [$0.key: $0.value]) }
        parts += manufacturerData.sorted { $0.key < $1.key }.map { Advertisement(manufacturerData: [$0.key: $0.value]) }
        parts += [
            Advertisement(localName: localName), Advertisement(txPower: txPower), Advertisement(appearance: appearance),
            Advertisement(advertisingInterval: advertisingInterval),
        ]
        parts += structures.map { Advertisement(structures: [$0]) }
        return parts
    }
}
