public import BLE

/// A medical device's UDI (Device Information Service 1.2; GATT Specification Supplement, UDI for Medical Devices). What was not sent
/// is nil.
public struct UniqueDeviceIdentifier: Hashable, ValueCodable {
    /// The identifier as people read it on the product.
    public var label: String?
    /// Its fixed part, which names the labeler and the model.
    public var deviceIdentifier: String?
    /// Who issued it: an object identifier (OID).
    public var issuer: String?
    /// The authority of the region: an OID, such as 2.16.840.1.113883.3.24 for the FDA of the United States.
    public var authority: String?

    /// An identifier.
    public init(
        label: String? = nil, deviceIdentifier: String? = nil, issuer: String? = nil, authority: String? = nil
    ) {
        self.label = label
        self.deviceIdentifier = deviceIdentifier
        self.issuer = issuer
        self.authority = authority
    }

    /// Flags, and the texts that they announce, each ended by a NUL.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let flags = try reader.uint8()
        label = flags & 0x01 != 0 ? try Self.text(&reader) : nil
        deviceIdentifier = flags & 0x02 != 0 ? try Self.text(&reader) : nil
        issuer = flags & 0x04 != 0 ? try Self.text(&reader) : nil
        authority = flags & 0x08 != 0 ? try Self.text(&reader) : nil
    }

    /// The same. Throws `invalidValue` for a text with a NUL in it.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        let texts = [label, deviceIdentifier, issuer, authority]
        var flags: UInt8 = 0
        for (bit, text) in texts.enumerated() where text != nil { flags |= 1 << bit }
        writer.uint8(flags)
        for case let text? in texts {
            guard !text.utf8.contains(0) else { throw BLEError(.invalidValue, "there is a NUL in \"\(text)\"") }
            writer.bytes(text.utf8)
            writer.uint8(0)
        }
    }

    /// Further bytes are passed over: the flags may announce more than is known here.
    public static var ignoresFurtherBytes: Bool { true }

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
    /// A medical device's UDI.
    public static var udi: Self { Characteristic(BluetoothUUID(0x2BFF), service: .deviceInformation) }
}
