public import BLE

/// The unique device identifier (UDI) of a medical device (Device Information Service 1.2; GATT Specification
/// Supplement, UDI for Medical Devices). Values that were not sent are nil.
public struct UniqueDeviceIdentifier: Hashable, Codable, ValueCodable {
    /// The identifier in its human-readable form, as printed on the product.
    public var label: String?
    /// The fixed part of the identifier, which identifies the labeler and the model.
    public var deviceIdentifier: String?
    /// The organization that issued the identifier, as an object identifier (OID).
    public var issuer: String?
    /// The regional authority as an OID, such as 2.16.840.1.113883.3.24 for the FDA of the United States.
    public var authority: String?

    /// Creates an identifier.
    public init(
        label: String? = nil, deviceIdentifier: String? = nil, issuer: String? = nil, authority: String? = nil
    ) {
        self.label = label
        self.deviceIdentifier = deviceIdentifier
        self.issuer = issuer
        self.authority = authority
    }

    /// Decodes flags, and the texts that they announce. Each text ends with a NUL.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let flags = try reader.uint8()
        label = flags & 0x01 != 0 ? try Self.text(&reader) : nil
        deviceIdentifier = flags & 0x02 != 0 ? try Self.text(&reader) : nil
        issuer = flags & 0x04 != 0 ? try Self.text(&reader) : nil
        authority = flags & 0x08 != 0 ? try Self.text(&reader) : nil
    }

    /// Encodes the identifier. Throws `invalidValue` if a text contains a NUL.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        let texts = [label, deviceIdentifier, issuer, authority]
        var flags: UInt8 = 0
        for (bit, text) in texts.enumerated() where text != nil { flags |= 1 << bit }
        writer.uint8(flags)
        for case let text? in texts {
            guard !text.utf8.contains(0) else { throw BLEError(.invalidValue, "\"\(text)\" contains a NUL") }
            writer.bytes(text.utf8)
            writer.uint8(0)
        }
    }

    /// True, since reserved flags may announce further fields.
    public static var ignoresTrailingBytes: Bool { true }

    private static func text(_ reader: inout ValueReader) throws(BLEError) -> String {
        var bytes: [UInt8] = []
        while true {
            let byte = try reader.uint8()
            if byte == 0 { return String(decoding: bytes, as: UTF8.self) }
            bytes.append(byte)
        }
    }
}

extension Characteristic where Value == UniqueDeviceIdentifier {
    /// The unique device identifier of a medical device.
    public static var udi: Self { Characteristic(BluetoothUUID(0x2BFF), service: .deviceInformation) }
}
