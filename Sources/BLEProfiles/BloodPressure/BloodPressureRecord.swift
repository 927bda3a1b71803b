public import BLE

/// A stored measurement of a blood pressure meter (GATT Specification Supplement, Blood Pressure Record).
public struct BloodPressureRecord: Hashable, Codable, Sendable {
    /// The number of the record, counted for each user from 0. It continues with 0 after 65535.
    public var sequenceNumber: UInt16
    /// The type of the recorded characteristic, such as the type of ``EnhancedBloodPressureMeasurement``.
    public var characteristic: BluetoothUUID
    /// The recorded value.
    public var value: [UInt8]
    /// The checksum at the end of the record, which is not verified. Nil if the meter sends none.
    public var checksum: UInt16?

    /// Creates a record.
    public init(sequenceNumber: UInt16, characteristic: BluetoothUUID, value: [UInt8], checksum: UInt16? = nil) {
        self.sequenceNumber = sequenceNumber
        self.characteristic = characteristic
        self.value = value
        self.checksum = checksum
    }

    /// The recorded measurement. Nil if another characteristic was recorded, or if the value is malformed.
    public var measurement: EnhancedBloodPressureMeasurement? {
        guard characteristic == Characteristic.enhancedBloodPressureMeasurement.uuid else { return nil }
        return try? EnhancedBloodPressureMeasurement(bytes: value)
    }
}

/// A part of a record, as the meter sends it. A record that fits one packet has one part.
public struct BloodPressureRecordSegment: Hashable, Codable, ValueCodable {
    /// Whether the record begins here.
    public var isFirst: Bool
    /// Whether the record ends here.
    public var isLast: Bool
    /// The number of the part, 0 to 63, which continues with 0 after 63.
    public var counter: UInt8
    /// The number of the record.
    public var sequenceNumber: UInt16
    /// The type of the recorded characteristic.
    public var characteristic: BluetoothUUID
    /// The part of the value. In the last part, the checksum follows if the meter sends one.
    public var bytes: [UInt8]

    /// Creates a part.
    public init(
        isFirst: Bool = true, isLast: Bool = true, counter: UInt8 = 0, sequenceNumber: UInt16,
        characteristic: BluetoothUUID, bytes: [UInt8]
    ) {
        self.isFirst = isFirst
        self.isLast = isLast
        self.counter = counter
        self.sequenceNumber = sequenceNumber
        self.characteristic = characteristic
        self.bytes = bytes
    }

    /// Decodes a header, the number, the type and the rest.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let header = try reader.uint8()
        (isFirst, isLast, counter) = (header & 1 != 0, header & 2 != 0, header >> 2)
        sequenceNumber = try reader.uint16()
        characteristic = BluetoothUUID(UInt32(try reader.uint16()))
        bytes = reader.rest()
    }

    /// Encodes the part. Throws `invalidValue` for a counter above 63, and for a type that has no 16-bit form.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        guard counter < 64 else { throw BLEError(.invalidValue, "\(counter) is not a counter of 6 bits") }
        guard let uuid = characteristic.short else {
            throw BLEError(.invalidValue, "\(characteristic) does not have a 16-bit form")
        }
        writer.uint8((isFirst ? 1 : 0) | (isLast ? 2 : 0) | counter << 2)
        writer.uint16(sequenceNumber)
        writer.uint16(uuid)
        writer.bytes(bytes)
    }
}

/// Merges the parts of records.
///
/// Each part repeats the number and the type of its record. A record with a missing part is omitted.
public struct BloodPressureRecordMerger: Sendable {
    /// Whether records end with a checksum: ``BloodPressureFeature/endToEndCRC``.
    public let hasChecksum: Bool
    private var record: (last: BloodPressureRecordSegment, bytes: [UInt8])?

    /// Creates a merger without parts.
    public init(hasChecksum: Bool) { self.hasChecksum = hasChecksum }

    /// Adds a part. Returns the record that the part completes, or nil.
    public mutating func add(_ segment: BloodPressureRecordSegment) -> BloodPressureRecord? {
        if segment.isFirst {
            record = (segment, segment.bytes)
        } else if let (last, bytes) = record, segment.counter == (last.counter + 1) & 63,
            segment.sequenceNumber == last.sequenceNumber, segment.characteristic == last.characteristic
        {
            record = (segment, bytes + segment.bytes)
        } else {
            record = nil
        }
        guard segment.isLast, var bytes = record?.bytes else { return nil }
        record = nil
        var checksum: UInt16?
        if hasChecksum {
            guard bytes.count >= 2 else { return nil }
            checksum = UInt16(bytes.removeLast()) << 8 | UInt16(bytes.removeLast())
        }
        return BloodPressureRecord(
            sequenceNumber: segment.sequenceNumber, characteristic: segment.characteristic, value: bytes,
            checksum: checksum)
    }
}

extension Characteristic where Value == BloodPressureRecordSegment {
    /// The parts of stored records. The meter notifies them on request.
    public static var bloodPressureRecord: Self { Characteristic(BluetoothUUID(0x2B36), service: .bloodPressure) }
}

extension BloodPressure {
    /// The record access control point of a meter that stores measurements.
    ///
    /// Meters of the service's earlier versions store measurements of the characteristic 2A35:
    /// `recordAccess.records(of: .bloodPressureMeasurement)` returns these.
    public var recordAccess: RecordAccessControlPoint { RecordAccessControlPoint(of: service) }

    /// Returns the selected records. Throws `characteristicNotFound` if the meter does not have this kind of records,
    /// and otherwise the errors of ``RecordAccessControlPoint``.
    ///
    /// The format of the parts is from the GATT Specification Supplement. The text of the service's specification was
    /// not available. A meter whose later parts do not repeat the number and the type is not supported.
    ///
    /// - Parameters:
    ///   - timeout: the maximum time. Nil for the configuration's operation timeout.
    ///   - malformed: called with the error for each part that cannot be decoded.
    public func records(
        _ selection: RecordSelection = .all, timeout: Duration? = nil,
        malformed: (@Sendable (BLEError) -> Void)? = nil
    ) async throws(BLEError) -> [BloodPressureRecord] {
        var merger = BloodPressureRecordMerger(hasChecksum: try await feature().contains(.endToEndCRC))
        let segments = try await recordAccess.records(
            selection, of: .bloodPressureRecord, timeout: timeout, malformed: malformed)
        return segments.compactMap { merger.add($0) }
    }
}
