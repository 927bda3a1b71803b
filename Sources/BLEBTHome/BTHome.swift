public import BLE
public import BLEProfiles

/// What a BTHome v2 device tells (bthome.io/format).
///
/// Decrypting needs the package's trait `BTHomeEncryption`:
///
/// ```swift
/// if let report = try BTHome.decode(found.advertisement), let address = Hex.bytes(found.peripheral.id.rawValue) {
///     for object in try report.objects(key: key, address: address) { print(object.kind.name, object.value ?? 0) }
/// }
/// ```
public struct BTHome: Hashable, Sendable {
    /// The objects, readable or not.
    public enum Payload: Hashable, Sendable {
        /// The objects in the order of the packet, so that of several of one kind the first is always the same. `rest` begins with
        /// the first id that is not known here: how long that object is only its id tells, so nothing after it can be read.
        case plain([BTHomeObject], rest: [UInt8])
        /// Objects that only who has the device's key can read.
        case encrypted(BTHomeSealed)
    }

    /// Whether the device advertises when something happens, instead of regularly.
    public let isTriggerBased: Bool
    /// The address that the device put into the packet, 6 bytes, the most significant first; usually none.
    public let address: [UInt8]?
    /// The objects.
    public let payload: Payload

    /// A report of `objects`, which should be ordered by id. Throws `invalidLength` for an address that has not 6 bytes.
    public init(
        _ objects: [BTHomeObject], isTriggerBased: Bool = false, address: [UInt8]? = nil
    ) throws(AdvertisementFormatError) {
        try self.init(.plain(objects, rest: []), isTriggerBased: isTriggerBased, address: address)
    }

    init(_ payload: Payload, isTriggerBased: Bool, address: [UInt8]?) throws(AdvertisementFormatError) {
        if let address, address.count != 6 { throw Self.error(.invalidLength(address.count)) }
        self.payload = payload
        self.isTriggerBased = isTriggerBased
        self.address = address
    }

    /// The objects, if they are not encrypted.
    public var objects: [BTHomeObject]? {
        if case .plain(let objects, _) = payload { objects } else { nil }
    }

    static let service = BluetoothUUID(0xFCD2)

    /// The bits of the first byte.
    enum Information {
        static let encrypted: UInt8 = 0x01
        static let address: UInt8 = 0x02
        static let triggerBased: UInt8 = 0x04
        static let version: UInt8 = 2
    }

    /// The first byte of the service data.
    var information: UInt8 {
        // It is part of the nonce, with its reserved bits.
        if case .encrypted(let sealed) = payload { return sealed.information }
        var information = Information.version << 5
        if address != nil { information |= Information.address }
        if isTriggerBased { information |= Information.triggerBased }
        return information
    }

    static func error(_ reason: AdvertisementFormatError.Reason) -> AdvertisementFormatError {
        AdvertisementFormatError("BTHome", reason)
    }
}

extension BTHome: AdvertisementDecodable, AdvertisementEncodable {
    /// The report in the service data of FCD2; nil when there is none.
    ///
    /// Bits 3 and 4 of the first byte are reserved and not looked at. Bit 1 is not in the published format any more; with it the
    /// device's address follows, as readers of the format have always had it. Throws `unsupportedVersion`, `invalidLength` when the data
    /// or an object ends early, `invalidValue` for a flag, an event or a command that there is not, `invalidText`.
    public static func decode(_ advertisement: Advertisement) throws(AdvertisementFormatError) -> BTHome? {
        guard let data = advertisement.serviceData[service] else { return nil }
        guard let information = data.first else { throw error(.invalidLength(0)) }
        guard information >> 5 == Information.version else { throw error(.unsupportedVersion(Int(information >> 5))) }
        var rest = data.dropFirst()
        var address: [UInt8]?
        if information & Information.address != 0 {
            guard rest.count >= 6 else { throw error(.invalidLength(data.count)) }
            address = rest.prefix(6).reversed()
            rest = rest.dropFirst(6)
        }
        let payload: Payload
        if information & Information.encrypted != 0 {
            guard let sealed = BTHomeSealed(rest, information: information) else {
                throw error(.invalidLength(data.count))
            }
            payload = .encrypted(sealed)
        } else {
            payload = .plain(try objects(&rest), rest: Array(rest))
        }
        return try BTHome(
            payload, isTriggerBased: information & Information.triggerBased != 0, address: address)
    }

    /// The objects up to the first that is not known, where `rest` begins then.
    static func objects(_ rest: inout ArraySlice<UInt8>) throws(AdvertisementFormatError) -> [BTHomeObject] {
        var objects: [BTHomeObject] = []
        while let id = rest.first, let kind = BTHomeKind(id: id) {
            rest = rest.dropFirst()
            objects.append(try BTHomeObject(kind, reading: &rest))
        }
        return objects
    }

    /// Sets the service data of FCD2.
    public func encode(into advertisement: inout Advertisement) throws(AdvertisementFormatError) {
        let rest =
            switch payload {
            case .plain(let objects, let rest): objects.flatMap(\.bytes) + rest
            case .encrypted(let sealed): sealed.bytes
            }
        advertisement.serviceData[Self.service] = [information] + (address ?? []).reversed() + rest
    }
}
