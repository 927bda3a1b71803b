internal import BLE

/// The advertising reports of an advertisement.
///
/// What fits into a legacy packet and its scan response is reported as such, and more as extended advertising.
struct AdvertisementPackets {
    private let advertisement: Advertisement
    private let address: PacketAddress

    init(_ advertisement: Advertisement, _ address: PacketAddress) {
        self.advertisement = advertisement
        self.address = address
    }

    /// The events. Empty if the advertisement cannot be encoded.
    var events: [HCIPacket] {
        guard let structures else { return [] }
        let encoded = structures.map { [UInt8($0.bytes.count + 1), $0.type] + $0.bytes }
        let limit = AdvertisingData.Limit.legacy.rawValue
        var (first, second): ([UInt8], [UInt8]) = ([], [])
        for structure in encoded {
            if second.isEmpty, first.count + structure.count <= limit {
                first += structure
            } else {
                second += structure
            }
        }
        guard second.count <= limit else { return extended(first + second) }
        let isConnectable = advertisement.isConnectable ?? true
        // Connectable and scannable; scannable; neither.
        let type: UInt8 = isConnectable ? 0 : second.isEmpty ? 3 : 2
        return [legacy(type, first)] + (second.isEmpty ? [] : [legacy(4, second)])
    }

    /// Nil if a value is out of the range of its structure.
    private var structures: [AdvertisingStructure]? {
        var others = advertisement
        others.serviceUUIDs = []
        guard var structures = try? others.data().structures else { return nil }
        // A system adds the services that it has discovered: they may not fit into one structure.
        var lists: [AdvertisingStructure] = []
        for width in UUIDWidth.allCases {
            let uuids = advertisement.serviceUUIDs.filter { UUIDWidth($0) == width }.sorted()
            let maximum = AdvertisingStructure.maximumCount / width.rawValue
            for start in stride(from: 0, to: uuids.count, by: maximum) {
                let part = Array(uuids[start..<min(start + maximum, uuids.count)])
                if let list = try? AdvertisingStructure(.serviceUUIDs(part, width: width, isComplete: true)) {
                    lists.append(list)
                }
            }
        }
        structures.insert(contentsOf: lists, at: advertisement.flags == nil ? 0 : 1)
        return structures
    }

    private var subject: [UInt8] {
        [(advertisement.addressType ?? address.likelyType).packetValue] + address.bytes
    }

    private var rssi: UInt8 { UInt8(bitPattern: Int8(clamping: advertisement.rssi ?? 127)) }

    private func legacy(_ type: UInt8, _ data: [UInt8]) -> HCIPacket {
        .event(
            HCI.leMeta,
            [HCI.advertisingReport, 1, type] + subject + [UInt8(truncatingIfNeeded: data.count)] + data + [rssi])
    }

    private func extended(_ data: [UInt8]) -> [HCIPacket] {
        // With the other fields, these fill an event.
        let maximum = 229
        return stride(from: 0, to: data.count, by: maximum).map { start in
            let end = min(start + maximum, data.count)
            var type: UInt16 = advertisement.isConnectable ?? true ? 1 : 0
            if end < data.count { type |= 0x20 }
            var parameters: [UInt8] = [HCI.extendedAdvertisingReport, 1]
            parameters.append16(type)
            parameters += subject
            // Both PHYs are 1M; set 0; the power is not known; there are no periodic advertisements and no target.
            parameters += [1, 1, 0, 127, rssi, 0, 0, 0, 0, 0, 0, 0, 0, 0]
            parameters.append(UInt8(end - start))
            return .event(HCI.leMeta, parameters + data[start..<end])
        }
    }
}
