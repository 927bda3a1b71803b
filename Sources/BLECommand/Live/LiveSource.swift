import BLE
import BLEProfiles

/// A characteristic whose values a live view shows.
struct LiveSource: Sendable {
    let characteristic: GATTCharacteristic
    /// What it is called, and where the peripheral has several, which one it is.
    let title: String
    /// The same for people.
    let shownTitle: String
    /// How its values are laid out; nil where nobody says.
    let format: ValueFormat?

    init(_ characteristic: GATTCharacteristic, on peripheral: Peripheral) async throws(BLEError) {
        self.characteristic = characteristic
        let key = characteristic.key
        format = await ShownValue.format(of: key, on: peripheral)
        let name = characteristic.uuid.name ?? characteristic.uuid.description
        title = try await Self.place(of: characteristic, on: peripheral).map { "\(name) (\($0))" } ?? name
        shownTitle = title.harmless
    }

    var isNotified: Bool { !characteristic.properties.isDisjoint(with: [.notify, .indicate]) }
    var isRead: Bool { characteristic.properties.contains(.read) }

    /// What is written to and answers is asked, not listened to.
    static func isShown(_ characteristic: GATTCharacteristic) -> Bool {
        let isWritten = !characteristic.properties.isDisjoint(with: [.write, .writeWithoutResponse])
        return !isWritten || characteristic.properties.contains(.read)
    }

    /// The user's description, or else what the presentation format says; nil where neither can be read.
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
