public import BLE

/// A change of a sensor's descriptors (Environmental Sensing Service 1.0, section 3.2).
public struct EnvironmentalDescriptorChange: Hashable, Codable, ValueCodable {
    /// The changed descriptors, and the source of the change.
    public struct Changes: OptionSet, Hashable, Codable, Sendable {
        /// The bits.
        public let rawValue: UInt16
        /// Creates a set from its bits.
        public init(rawValue: UInt16) { self.rawValue = rawValue }

        /// The change was made by a client. Without this bit, it was made by the sensor itself.
        public static let byClient = Changes(rawValue: 0x01)
        /// ES Trigger Setting descriptors.
        public static let triggers = Changes(rawValue: 0x02)
        /// The ES Configuration descriptor.
        public static let configuration = Changes(rawValue: 0x04)
        /// The ES Measurement descriptor.
        public static let measurement = Changes(rawValue: 0x08)
        /// The user description.
        public static let userDescription = Changes(rawValue: 0x10)
    }

    /// The changed descriptors, and the source of the change.
    public var changes: Changes
    /// The type of the characteristic that the descriptors belong to.
    public var characteristic: BluetoothUUID

    /// Creates a change.
    public init(_ changes: Changes, of characteristic: BluetoothUUID) {
        self.changes = changes
        self.characteristic = characteristic
    }

    /// Decodes flags, and a UUID of 2 or 16 bytes.
    public init(from reader: inout ValueReader) throws(BLEError) {
        changes = try reader.raw()
        if reader.remaining == 16 {
            let low: UInt64 = try reader.integer()
            characteristic = BluetoothUUID(high: try reader.integer(), low: low)
        } else {
            characteristic = BluetoothUUID(UInt32(try reader.uint16()))
        }
    }

    /// Encodes the change. The UUID has 2 bytes if it has a 16-bit form.
    public func encode(into writer: inout ValueWriter) {
        writer.raw(changes)
        if let short = characteristic.short {
            writer.uint16(short)
        } else {
            writer.bytes(characteristic.bigEndianBytes.reversed())
        }
    }
}

extension EnvironmentalDescriptorChange.Changes: NamedConstants {
    static let names = bits("byClient", "triggers", "configuration", "measurement", "userDescription")
}
