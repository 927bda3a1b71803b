public import BLE

/// The report of a BTHome v2 device (bthome.io/format).
///
/// Decrypting needs the package's trait `BTHomeEncryption`:
///
/// ```swift
/// if let report = try BTHome.decode(found.advertisement), let address = Hex.bytes(found.peripheral.id.rawValue) {
///     for object in try report.objects(key: bindKey, address: address) { print(object.kind.name, object.value ?? 0) }
/// }
/// ```
public struct BTHome: Hashable, Sendable {
    /// The objects, encrypted or not.
    public enum Payload: Hashable, Sendable {
        /// The objects in the order of the packet, which distinguishes several objects of the same kind. `rest` begins
        /// with the first unknown id. The length of that object is unknown, so the objects after it cannot be decoded.
        case plain([BTHomeObject], rest: [UInt8])
        /// Encrypted objects, which can be decrypted only with the device's key.
        case encrypted(BTHomeSealed)
    }

    /// Whether the device advertises in response to events instead of regularly.
    public let isTriggerBased: Bool
    /// The address in the packet, 6 bytes, most significant first. Usually nil.
    public let address: [UInt8]?
    /// The objects.
    public let payload: Payload

    /// Creates a report of `objects`, which should be ordered by id. Throws `invalidLength` if the address does not
    /// have 6 bytes.
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
        // The first byte is part of the nonce, with its reserved bits.
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
    /// Decodes the report in the service data of FCD2. Returns nil if there is none.
    ///
    /// Bits 3 and 4 of the first byte are reserved and ignored. Bit 1 is no longer in the published format; if it is
    /// set, the device's address follows, as other decoders assume. An unknown event of a button or a dimmer is none,
    /// and an unknown command is omitted, so that the rest of the report counts. Throws `unsupportedVersion`,
    /// `invalidLength` if the data or an object is truncated, `invalidValue` for an unknown flag, and `invalidText`.
    public static func decode(_ advertisement: Advertisement) throws(AdvertisementFormatError) -> BTHome? {
        guard let data = advertisement.data(ofService: service) else { return nil }
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
            payload = .plain(try objects(&rest, in: data.count), rest: Array(rest))
        }
        return try BTHome(
            payload, isTriggerBased: information & Information.triggerBased != 0, address: address)
    }

    /// Decodes objects up to the first unknown id, at which `rest` then begins. The error for a truncated object has
    /// the length of the whole data, `length`.
    static func objects(
        _ rest: inout ArraySlice<UInt8>, in length: Int
    ) throws(AdvertisementFormatError) -> [BTHomeObject] {
        var objects: [BTHomeObject] = []
        do throws(AdvertisementFormatError) {
            while let id = rest.first, let kind = BTHomeKind(id: id) {
                rest = rest.dropFirst()
                if let object = try BTHomeObject(kind, reading: &rest) { objects.append(object) }
            }
        } catch {
            guard case .invalidLength = error.reason else { throw error }
            throw Self.error(.invalidLength(length))
        }
        return objects
    }

    /// Sets the service data of FCD2 to the report.
    public func encode(into advertisement: inout Advertisement) throws(AdvertisementFormatError) {
        let rest =
            switch payload {
            case .plain(let objects, let rest): objects.flatMap(\.bytes) + rest
            case .encrypted(let sealed): sealed.bytes
            }
        advertisement.serviceData[Self.service] = [information] + (address ?? []).reversed() + rest
    }
}
