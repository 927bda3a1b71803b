public import BLE

/// A frame of Google's Eddystone format (github.com/google/eddystone, protocol-specification.md).
public enum Eddystone: Hashable, Codable, Sendable {
    /// An identity: a namespace of 10 bytes and an instance of 6.
    case uid(namespace: [UInt8], instance: [UInt8], txPower: Int)
    /// A web address. Its encoded form has at most 17 bytes after the scheme.
    case url(String, txPower: Int)
    /// The state of the beacon.
    case telemetry(EddystoneTelemetry)
    /// The state of the beacon, encrypted: 12 bytes of ciphertext, and the salt and integrity check, 16 bits each. It
    /// can be decrypted with the beacon's identity key and clock, using AES-EAX.
    case encryptedTelemetry(ciphertext: [UInt8], salt: UInt16, integrityCheck: UInt16)
    /// An ephemeral identity of 8 bytes, which can be resolved only by the service with which the beacon is registered.
    case ephemeralID([UInt8], txPower: Int)

    static let service = BluetoothUUID(0xFEAA)
    /// The transmit powers at a distance of 0 m that a frame can contain, in dBm.
    static let powers = -100...20

    private enum FrameType {
        static let uid: UInt8 = 0x00
        static let url: UInt8 = 0x10
        static let telemetry: UInt8 = 0x20
        static let ephemeralID: UInt8 = 0x30
    }

    static func error(_ reason: AdvertisementFormatError.Reason) -> AdvertisementFormatError {
        AdvertisementFormatError("Eddystone", reason)
    }
}

extension Eddystone: AdvertisementDecodable, AdvertisementEncodable {
    /// Decodes the frame in the service data of FEAA. Returns nil if there is none, or one of a ``FindHubBeacon``.
    ///
    /// Throws `invalidLength` if the length does not match the frame type (the two reserved bytes at the end of an
    /// identity may be missing), `unsupportedVersion` for unknown frame types and telemetry versions, and
    /// `invalidValue` for a power outside of −100 to 20 dBm, reserved bytes that are not 0, and reserved characters.
    public static func decode(_ advertisement: Advertisement) throws(AdvertisementFormatError) -> Eddystone? {
        guard let data = advertisement.data(ofService: service) else { return nil }
        guard let type = data.first else { throw error(.invalidLength(0)) }
        guard !FindHubBeacon.frameTypes.contains(type) else { return nil }
        var reader = BigEndianReader(data.dropFirst())
        switch type {
        case FrameType.uid:
            try expect(data.count == 20 || data.count == 18, data)
            let power = try power(reader.next())
            let (namespace, instance) = (reader.bytes(10), reader.bytes(6))
            guard reader.next(UInt16.self) == 0 else { throw error(.invalidValue(field: "reserved bytes")) }
            return .uid(namespace: namespace, instance: instance, txPower: power)
        case FrameType.url:
            try expect((3...20).contains(data.count), data)
            let power = try power(reader.next())
            return .url(try EddystoneURL.decode(data.dropFirst(2)), txPower: power)
        case FrameType.telemetry:
            try expect(data.count > 1, data)
            switch reader.next(UInt8.self) {
            case 0:
                try expect(data.count == 14, data)
                return .telemetry(EddystoneTelemetry(&reader))
            case 1:
                try expect(data.count == 18, data)
                return .encryptedTelemetry(
                    ciphertext: reader.bytes(12), salt: reader.next(), integrityCheck: reader.next())
            case let version: throw error(.unsupportedVersion(Int(version)))
            }
        case FrameType.ephemeralID:
            try expect(data.count == 10, data)
            let power = try power(reader.next())
            return .ephemeralID(reader.bytes(8), txPower: power)
        default: throw error(.unsupportedVersion(Int(type)))
        }
    }

    /// Sets the service data of FEAA and adds that service, as the specification requires. Throws `invalidLength` if an
    /// identity or ciphertext has an invalid length or if the address is too long, and `invalidValue` if a power, a
    /// telemetry value or an address cannot be encoded.
    public func encode(into advertisement: inout Advertisement) throws(AdvertisementFormatError) {
        advertisement.serviceData[Self.service] = try encode()
        advertisement.serviceUUIDs.insert(Self.service)
    }

    private func encode() throws(AdvertisementFormatError) -> [UInt8] {
        switch self {
        case .uid(let namespace, let instance, let power):
            try Self.expect(namespace.count == 10, namespace)
            try Self.expect(instance.count == 6, instance)
            return [FrameType.uid, try Self.byte(power)] + namespace + instance + [0, 0]
        case .url(let url, let power):
            let encoded = try EddystoneURL.encode(url)
            try Self.expect(encoded.count <= 18, encoded)
            return [FrameType.url, try Self.byte(power)] + encoded
        case .telemetry(let telemetry): return [FrameType.telemetry, 0] + (try telemetry.encode())
        case .encryptedTelemetry(let ciphertext, let salt, let integrityCheck):
            try Self.expect(ciphertext.count == 12, ciphertext)
            return [FrameType.telemetry, 1] + ciphertext + salt.bigEndianBytes + integrityCheck.bigEndianBytes
        case .ephemeralID(let id, let power):
            try Self.expect(id.count == 8, id)
            return [FrameType.ephemeralID, try Self.byte(power)] + id
        }
    }

    private static func expect(_ isGood: Bool, _ data: [UInt8]) throws(AdvertisementFormatError) {
        guard isGood else { throw error(.invalidLength(data.count)) }
    }

    private static func power(_ byte: UInt8) throws(AdvertisementFormatError) -> Int {
        let power = Int(Int8(bitPattern: byte))
        guard powers.contains(power) else { throw error(.invalidValue(field: "power")) }
        return power
    }

    private static func byte(_ power: Int) throws(AdvertisementFormatError) -> UInt8 {
        guard powers.contains(power) else { throw error(.invalidValue(field: "power")) }
        return UInt8(bitPattern: Int8(power))
    }
}
