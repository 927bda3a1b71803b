extension Central {
    /// A characteristic of a connected peripheral, with its location.
    struct Target {
        let service: GATTService
        let characteristic: GATTCharacteristic
        let attribute: AttributeID

        /// Finds a characteristic. Throws `serviceNotFound` or `characteristicNotFound`.
        init(_ key: CharacteristicKey, of id: Peripheral.ID, in database: GATTDatabase) throws(BLEError) {
            (service, characteristic) = try database.find(key)
            attribute = AttributeID(peripheral: id, handle: characteristic.handle)
        }

        /// Whether an operation on its value can be started without asking the peripheral anything first.
        func allows(_ operation: AttributeOperation) -> Bool {
            let properties = characteristic.properties
            return switch operation {
            case .read: operation.fitsAttribute && properties.contains(.read)
            case .write(let value, type: .withoutResponse, let offset):
                // What fits every packet: Core Specification 5.4, volume 3, part F, section 3.2.8.
                offset == 0 && value.count <= 20 && properties.contains(.writeWithoutResponse)
            case .write(_, type: .withResponse, _): operation.fitsAttribute && properties.contains(.write)
            case .write(_, type: .reliable, _): operation.fitsAttribute && properties.contains(.reliableWrite)
            case .readDescriptor, .writeDescriptor: false
            }
        }
    }
}

extension AttributeOperation {
    /// The maximum length of an attribute's value (Core Specification 5.4, volume 3, part F, section 3.2.9).
    private static let maximumLength = 512

    /// The position of the first byte, and the number of bytes that are written.
    private var extent: (offset: Int, count: Int) {
        switch self {
        case .read(let offset): (offset, 0)
        case .write(let value, _, let offset): (offset, value.count)
        case .readDescriptor: (0, 0)
        case .writeDescriptor(let value): (0, value.count)
        }
    }

    var fitsAttribute: Bool {
        let (offset, count) = extent
        return offset >= 0 && offset <= Self.maximumLength && count <= Self.maximumLength - offset
    }

    /// The maximum length of a long write that every bluetoothd accepts as a peripheral: before 5.69, it counts what
    /// precedes the value in a packet, too (`check_length` in its `src/shared/gatt-server.c`).
    private static let surelyAcceptedLength = 508

    /// Adds a remedy to a peripheral's rejection of a length that the specification allows.
    func advised(_ error: BLEError) -> BLEError {
        let (offset, count) = extent
        guard error.code == .invalidLength, error.remedy == nil, offset + count > Self.surelyAcceptedLength else {
            return error
        }
        var error = error
        error.remedy =
            "Write at most \(Self.surelyAcceptedLength) bytes: some peripherals accept no more, such as bluetoothd "
            + "before 5.69."
        return error
    }

    /// Rejects a value or an offset that exceeds the length of any attribute.
    func checkExtent(_ key: CharacteristicKey, _ id: Peripheral.ID) throws(BLEError) {
        guard !fitsAttribute else { return }
        let (offset, count) = extent
        let isOffsetValid = 0...Self.maximumLength ~= offset
        throw BLEError(
            isOffsetValid ? .invalidLength : .invalidOffset,
            isOffsetValid
                ? "an attribute holds at most \(Self.maximumLength) bytes, not \(offset + count)"
                : "an offset must be 0 to \(Self.maximumLength), not \(offset)",
            peripheral: id, service: key.service, characteristic: key.characteristic)
    }
}
