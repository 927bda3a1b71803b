public import BLE

/// A tracker of Google's Find Hub network, which was the Find My Device network (Find Hub Network Accessory
/// Specification 1.3, advertised frames).
///
/// Its service data has the UUID of Eddystone, with other frame types.
public struct FindHubBeacon: Hashable, Codable, Sendable {
    /// The ephemeral identifier, 20 or 32 bytes, which changes about every 17 minutes. Only the owner can tell which
    /// identifiers belong together.
    public var ephemeralID: [UInt8]
    /// Whether the tracker is in the mode that protects from unwanted tracking, in which its address changes only once
    /// a day. The owner's phones turn the mode on and off. Without it, nothing is known about the owner, who may be
    /// near or not.
    public var protectsFromTracking: Bool
    /// The battery's level and the mode, hidden by a hash that only the owner can compute. Nil if the frame does not
    /// contain them.
    public var hashedFlags: UInt8?

    /// Creates a frame.
    public init(ephemeralID: [UInt8], protectsFromTracking: Bool, hashedFlags: UInt8? = nil) {
        self.ephemeralID = ephemeralID
        self.protectsFromTracking = protectsFromTracking
        self.hashedFlags = hashedFlags
    }

    /// The frame types in Eddystone's service data: without the mode that protects from unwanted tracking, and in it.
    static let frameTypes: ClosedRange<UInt8> = 0x40...0x41
    /// The lengths of an identifier, on the curves secp160r1 and secp256r1.
    private static let lengths: Set<Int> = [20, 32]

    private static func error(_ reason: AdvertisementFormatError.Reason) -> AdvertisementFormatError {
        AdvertisementFormatError(format.name, reason)
    }
}

extension FindHubBeacon: AdvertisementDecodable, AdvertisementEncodable {
    /// Decodes the frame in the service data of FEAA. Returns nil if there is none, or one of Eddystone.
    ///
    /// Throws `invalidLength` unless the identifier has 20 or 32 bytes, with at most one byte after it.
    public static func decode(_ advertisement: Advertisement) throws(AdvertisementFormatError) -> FindHubBeacon? {
        guard let data = advertisement.data(ofService: Eddystone.service), let type = data.first,
            frameTypes.contains(type)
        else { return nil }
        guard let length = lengths.first(where: { (1...2).contains(data.count - $0) }) else {
            throw error(.invalidLength(data.count))
        }
        return FindHubBeacon(
            ephemeralID: Array(data[1...length]), protectsFromTracking: type == frameTypes.upperBound,
            hashedFlags: data.count == length + 2 ? data[length + 1] : nil)
    }

    /// Sets the service data of FEAA. Throws `invalidLength` for an identifier of another length than 20 or 32 bytes.
    /// One of 32 bytes needs extended advertising.
    public func encode(into advertisement: inout Advertisement) throws(AdvertisementFormatError) {
        guard Self.lengths.contains(ephemeralID.count) else { throw Self.error(.invalidLength(ephemeralID.count)) }
        let type = protectsFromTracking ? Self.frameTypes.upperBound : Self.frameTypes.lowerBound
        advertisement.serviceData[Eddystone.service] = [type] + ephemeralID + (hashedFlags.map { [$0] } ?? [])
    }

    /// The name of the format, and the service whose data has it.
    public static let format = AdvertisementFormat.Description("Find Hub", .service(Eddystone.service))
}

extension FindHubBeacon: CustomStringConvertible {
    /// A line such as `EID 000102030405060708090a0b0c0d0e0f10111213, protects from unwanted tracking`. Without the
    /// mode, the identifier alone.
    public var description: String {
        "EID \(Hex.string(ephemeralID))" + (protectsFromTracking ? ", protects from unwanted tracking" : "")
    }
}

/// Stored and sent as an object with the names of the properties. The identifier is hexadecimal text.
extension FindHubBeacon {
    private enum CodingKeys: CodingKey {
        case ephemeralID, protectsFromTracking, hashedFlags
    }

    /// Reads the value.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        ephemeralID = try container.decodeHex(forKey: .ephemeralID)
        protectsFromTracking = try container.decode(Bool.self, forKey: .protectsFromTracking)
        hashedFlags = try container.decodeIfPresent(UInt8.self, forKey: .hashedFlags)
    }

    /// Writes the value.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeHex(ephemeralID, forKey: .ephemeralID)
        try container.encode(protectsFromTracking, forKey: .protectsFromTracking)
        try container.encodeIfPresent(hashedFlags, forKey: .hashedFlags)
    }
}
