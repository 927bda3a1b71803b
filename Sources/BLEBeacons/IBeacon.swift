public import BLE

/// Apple's iBeacon (Proximity Beacon Specification, release R1): an identity in three levels.
public struct IBeacon: Hashable, Codable, Sendable {
    /// The UUID of the beacons of one owner.
    public var uuid: BluetoothUUID
    /// The number of a group of beacons.
    public var major: UInt16
    /// The number of a beacon in its group.
    public var minor: UInt16
    /// The signal strength at a distance of 1 m, in dBm.
    public var measuredPower: Int

    /// Creates a beacon.
    public init(uuid: BluetoothUUID, major: UInt16, minor: UInt16, measuredPower: Int) {
        self.uuid = uuid
        self.major = major
        self.minor = minor
        self.measuredPower = measuredPower
    }

    static let company: UInt16 = 0x004C
    private static let type: UInt8 = 0x02
    private static let length: UInt8 = 0x15
}

extension IBeacon: AdvertisementDecodable, AdvertisementEncodable {
    /// Decodes the beacon in Apple's manufacturer data. Returns nil if its type is not 02. Throws `invalidLength`
    /// unless the data has 23 bytes and the matching length byte.
    public static func decode(_ advertisement: Advertisement) throws(AdvertisementFormatError) -> IBeacon? {
        guard let data = advertisement.data(ofCompany: company), data.first == type else { return nil }
        guard data.count == Int(length) + 2, data[1] == length else {
            throw AdvertisementFormatError("iBeacon", .invalidLength(data.count))
        }
        var reader = BigEndianReader(data.dropFirst(2))
        let uuid = BluetoothUUID(high: reader.next(), low: reader.next())
        return IBeacon(
            uuid: uuid, major: reader.next(), minor: reader.next(), measuredPower: Int(reader.next(Int8.self)))
    }

    /// Sets Apple's manufacturer data. Throws `invalidValue` for a power that does not fit in a signed byte.
    public func encode(into advertisement: inout Advertisement) throws(AdvertisementFormatError) {
        guard let power = Int8(exactly: measuredPower) else {
            throw AdvertisementFormatError("iBeacon", .invalidValue(field: "measured power"))
        }
        advertisement.manufacturerData[Self.company] =
            [Self.type, Self.length] + uuid.bigEndianBytes + major.bigEndianBytes + minor.bigEndianBytes
            + power.bigEndianBytes
    }
}
