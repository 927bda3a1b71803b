import BLE
import BLEAssignedNumbers

/// The values of a device with a link.
extension ListedDevice {
    /// Returns the listed values, and those of the profiles, for which it waits for the first link.
    ///
    /// - Parameter note: is told of each service that the peripheral does not have.
    func declaredValues(
        of peripheral: Peripheral, _ note: (String) -> Void
    ) async throws -> [DeclaredValue] {
        guard !profiles.isEmpty else { return declaredValues(in: GATTDatabase(services: [])) }
        // Unlike services(), this has no time limit on a maintained link.
        _ = try await peripheral.values([])
        let database = try await peripheral.services()
        for profile in profiles where !database.contains(where: { $0.uuid == profile }) {
            note("no service \(profile.name ?? "\(profile)")")
        }
        return declaredValues(in: database)
    }

    /// Returns the listed values, and what the services of the profiles have: characteristics that can be read, and
    /// those that notify and cannot be written.
    ///
    /// One that notifies and can only be written is a control point. Of several characteristics of a type in services
    /// of a type, the first one is used.
    func declaredValues(in database: GATTDatabase) -> [DeclaredValue] {
        var values = self.values.map { DeclaredValue($0, isRead: true, isNotified: true) }
        for service in database where profiles.contains(service.uuid) {
            for characteristic in service {
                let properties = characteristic.properties
                let notifies = !properties.isDisjoint(with: [.notify, .indicate])
                let isWritten = !properties.isDisjoint(with: [.write, .writeWithoutResponse])
                guard properties.contains(.read) || notifies && !isWritten,
                    !values.contains(where: { $0.key.isSame(service.uuid, characteristic.uuid) })
                else { continue }
                values.append(
                    DeclaredValue(
                        CharacteristicKey(service: service.uuid, characteristic: characteristic.uuid),
                        isRead: properties.contains(.read), isNotified: notifies))
            }
        }
        return values
    }

    /// Returns the fields of a value, in its own format or in that of the SIG.
    func fields(of value: [UInt8], _ key: CharacteristicKey) -> [DeviceField] {
        let anywhere = CharacteristicKey(characteristic: key.characteristic)
        guard let format = formats[key] ?? formats[anywhere] else { return DeviceField.fields(of: value, key) }
        return format.fields(of: value)
    }
}

extension CharacteristicKey {
    /// Whether the key stands for a characteristic in a service.
    fileprivate func isSame(_ service: BluetoothUUID, _ characteristic: BluetoothUUID) -> Bool {
        self.characteristic == characteristic && (self.service.map { $0 == service } ?? true)
    }
}
