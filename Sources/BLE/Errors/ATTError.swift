/// An error code of the Attribute Protocol, as a peripheral sends it.
///
/// Names and numbers from the Core Specification 5.4, volume 3, part F, section 3.4.1.1; 0x80 to 0x9F are application
/// errors, 0xE0 to 0xFF are common profile errors (Core Specification Supplement, part B).
public struct ATTError: RawRepresentable, Hashable, Codable, Sendable, Error {
    /// The code as sent over the air.
    public let rawValue: UInt8

    /// Creates an error from its code.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The handle is not valid on this server.
    public static let invalidHandle = ATTError(rawValue: 0x01)
    /// The attribute cannot be read.
    public static let readNotPermitted = ATTError(rawValue: 0x02)
    /// The attribute cannot be written.
    public static let writeNotPermitted = ATTError(rawValue: 0x03)
    /// The request was malformed.
    public static let invalidPDU = ATTError(rawValue: 0x04)
    /// The attribute requires authentication.
    public static let insufficientAuthentication = ATTError(rawValue: 0x05)
    /// The server does not support the request.
    public static let requestNotSupported = ATTError(rawValue: 0x06)
    /// The offset is past the end of the value.
    public static let invalidOffset = ATTError(rawValue: 0x07)
    /// The attribute requires authorization.
    public static let insufficientAuthorization = ATTError(rawValue: 0x08)
    /// Too many prepared writes are queued.
    public static let prepareQueueFull = ATTError(rawValue: 0x09)
    /// No attribute was found in the range.
    public static let attributeNotFound = ATTError(rawValue: 0x0A)
    /// The attribute cannot be read in parts.
    public static let attributeNotLong = ATTError(rawValue: 0x0B)
    /// The link's encryption key is too short.
    public static let encryptionKeySizeTooShort = ATTError(rawValue: 0x0C)
    /// The value has the wrong length for the attribute.
    public static let invalidAttributeValueLength = ATTError(rawValue: 0x0D)
    /// An unlikely error occurred.
    public static let unlikelyError = ATTError(rawValue: 0x0E)
    /// The attribute requires encryption.
    public static let insufficientEncryption = ATTError(rawValue: 0x0F)
    /// The attribute type is not a supported grouping attribute.
    public static let unsupportedGroupType = ATTError(rawValue: 0x10)
    /// The server is out of resources.
    public static let insufficientResources = ATTError(rawValue: 0x11)
    /// The database changed. Discover it again.
    public static let databaseOutOfSync = ATTError(rawValue: 0x12)
    /// The value is not allowed.
    public static let valueNotAllowed = ATTError(rawValue: 0x13)
    /// The profile rejected the write.
    public static let writeRequestRejected = ATTError(rawValue: 0xFC)
    /// The Client Characteristic Configuration descriptor is not configured as the profile requires.
    public static let improperlyConfigured = ATTError(rawValue: 0xFD)
    /// A procedure of the profile is already in progress.
    public static let procedureInProgress = ATTError(rawValue: 0xFE)
    /// The value is out of range.
    public static let outOfRange = ATTError(rawValue: 0xFF)

    /// Whether pairing, or a stronger pairing, may resolve the error.
    public var isSecurity: Bool {
        [.insufficientAuthentication, .insufficientEncryption, .encryptionKeySizeTooShort, .insufficientAuthorization]
            .contains(self)
    }
}

extension ATTError: CustomStringConvertible {
    /// The code and its name, such as `ATT error 0x0e (unlikely error)`.
    public var description: String {
        let number = "ATT error 0x\(Hex.string([rawValue]))"
        return name.map { "\(number) (\($0))" } ?? number
    }

    /// The specification's name in lowercase. Nil for a code without a name.
    public var name: String? {
        switch self {
        case .invalidHandle: "invalid handle"
        case .readNotPermitted: "read not permitted"
        case .writeNotPermitted: "write not permitted"
        case .invalidPDU: "invalid PDU"
        case .insufficientAuthentication: "insufficient authentication"
        case .requestNotSupported: "request not supported"
        case .invalidOffset: "invalid offset"
        case .insufficientAuthorization: "insufficient authorization"
        case .prepareQueueFull: "prepare queue full"
        case .attributeNotFound: "attribute not found"
        case .attributeNotLong: "attribute not long"
        case .encryptionKeySizeTooShort: "encryption key size too short"
        case .invalidAttributeValueLength: "invalid attribute value length"
        case .unlikelyError: "unlikely error"
        case .insufficientEncryption: "insufficient encryption"
        case .unsupportedGroupType: "unsupported group type"
        case .insufficientResources: "insufficient resources"
        case .databaseOutOfSync: "database out of sync"
        case .valueNotAllowed: "value not allowed"
        case .writeRequestRejected: "write request rejected"
        case .improperlyConfigured: "client characteristic configuration improperly configured"
        case .procedureInProgress: "procedure already in progress"
        case .outOfRange: "out of range"
        default: (0x80...0x9F).contains(rawValue) ? "application error" : nil
        }
    }
}
