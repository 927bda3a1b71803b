public import BLE

/// An accessory that tells its location to its owner, as it advertises to be recognized if the owner is someone else
/// (Detecting Unwanted Location Trackers, DULT: draft-ietf-dult-accessory-protocol-00, section 3.4).
///
/// An accessory that is separated from its owner has to advertise this, and is connectable. Without pairing, anyone may
/// ask it for its maker, and let it play a sound: see ``nonOwnerService``.
public struct LocationTracker: Hashable, Codable, Sendable {
    /// The network that locates the accessory: 1 for Apple's, 2 for Google's.
    public var networkID: UInt8
    /// Whether the owner is near. An accessory counts as separated after 30 minutes away.
    public var isNearOwner: Bool
    /// Data of the network, up to 22 bytes in a legacy advertisement. It changes together with the address: every 15
    /// minutes near the owner, once a day otherwise.
    public var payload: [UInt8]

    /// Creates an advertisement of an accessory.
    public init(networkID: UInt8, isNearOwner: Bool, payload: [UInt8] = []) {
        self.networkID = networkID
        self.isNearOwner = isNearOwner
        self.payload = payload
    }

    /// The UUID of the service data.
    public static let service = BluetoothUUID(0xFCB2)
    /// The service of an accessory, on a connection, for those who are not its owner (section 3.11).
    public static let nonOwnerService = BluetoothUUID("15190001-12f4-c226-88ed-2ac5579f2a85")!
    /// The characteristic of ``nonOwnerService`` that is written to and indicates.
    public static let nonOwnerCharacteristic = BluetoothUUID("8e0c0001-1d68-fb92-bf61-48377421680e")!

    private static let nearOwner: UInt8 = 0x01
}

extension LocationTracker: AdvertisementDecodable, AdvertisementEncodable {
    /// Decodes service data of FCB2. Returns nil if there is none. Throws `invalidLength` for less than 2 bytes. The
    /// reserved bits are ignored.
    public static func decode(_ advertisement: Advertisement) throws(AdvertisementFormatError) -> LocationTracker? {
        guard let data = advertisement.data(ofService: service) else { return nil }
        guard data.count >= 2 else { throw AdvertisementFormatError(format.name, .invalidLength(data.count)) }
        return LocationTracker(
            networkID: data[0], isNearOwner: data[1] & nearOwner != 0, payload: Array(data.dropFirst(2)))
    }

    /// Sets the service data of FCB2.
    public func encode(into advertisement: inout Advertisement) {
        advertisement.serviceData[Self.service] = [networkID, isNearOwner ? Self.nearOwner : 0] + payload
    }

    /// The name of the format, and the service whose data has it.
    public static let format = AdvertisementFormat.Description("Location tracker", .service(service))
}

extension LocationTracker: CustomStringConvertible {
    /// A line such as `Google's network, separated from its owner`, with the payload if there is any.
    public var description: String {
        let network =
            switch networkID {
            case 1: "Apple's network"
            case 2: "Google's network"
            default: "network \(networkID)"
            }
        let state = isNearOwner ? "near its owner" : "separated from its owner"
        return ([network, state] + (payload.isEmpty ? [] : [Hex.string(payload)])).joined(separator: ", ")
    }
}

/// Stored and sent as an object with the names of the properties. The payload is hexadecimal text, and omitted if it is
/// empty.
extension LocationTracker {
    private enum CodingKeys: CodingKey {
        case networkID, isNearOwner, payload
    }

    /// Reads the value.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        networkID = try container.decode(UInt8.self, forKey: .networkID)
        isNearOwner = try container.decode(Bool.self, forKey: .isNearOwner)
        payload = container.contains(.payload) ? try container.decodeHex(forKey: .payload) : []
    }

    /// Writes the value.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(networkID, forKey: .networkID)
        try container.encode(isNearOwner, forKey: .isNearOwner)
        if !payload.isEmpty { try container.encodeHex(payload, forKey: .payload) }
    }
}
