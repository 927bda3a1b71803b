import BLE
import BLEAssignedNumbers

/// A characteristic whose values a live view shows.
struct LiveSource: Sendable {
    let characteristic: GATTCharacteristic
    /// The name of the characteristic. If the peripheral distinguishes several of the same type, also its position.
    let title: String
    /// The title for people, without control characters.
    let shownTitle: String
    /// The format of its values. Nil if it is unknown.
    let format: (any AttributeFormat)?

    init(_ characteristic: GATTCharacteristic, on peripheral: Peripheral) async throws(BLEError) {
        self.characteristic = characteristic
        let key = characteristic.key
        format = await ShownValue.format(of: key, on: peripheral)
        let name = characteristic.uuid.name(in: .shown) ?? characteristic.uuid.description
        title = try await Self.place(of: characteristic, on: peripheral).map { "\(name) (\($0))" } ?? name
        shownTitle = title.harmless
    }

    var isNotified: Bool { !characteristic.properties.isDisjoint(with: [.notify, .indicate]) }
    var isRead: Bool { characteristic.properties.contains(.read) }

    /// Whether a live view shows the characteristic. False if it can be written but not read, like a control point.
    static func isShown(_ characteristic: GATTCharacteristic) -> Bool {
        let isWritten = !characteristic.properties.isDisjoint(with: [.write, .writeWithoutResponse])
        return !isWritten || characteristic.properties.contains(.read)
    }

    /// Returns the user description, or the description in the presentation format. Nil if neither can be read.
    private static func place(
        of characteristic: GATTCharacteristic, on peripheral: Peripheral
    ) async throws(BLEError) -> String? {
        let key = characteristic.key
        if characteristic[BluetoothUUID(0x2901)] != nil {
            let text = try await Result(of: peripheral) { () throws(BLEError) in
                try await peripheral.userDescription(of: key)
            }
            if case .success(let text?) = text, !text.isEmpty { return text }
        }
        guard characteristic[BluetoothUUID(0x2904)] != nil else { return nil }
        let format = try await Result(of: peripheral) { () throws(BLEError) in
            try await peripheral.presentationFormat(of: key)
        }
        guard case .success(let format?) = format, format.namespace == .bluetoothSIG, format.description != .unknown
        else { return nil }
        return "\(format.description)"
    }
}
