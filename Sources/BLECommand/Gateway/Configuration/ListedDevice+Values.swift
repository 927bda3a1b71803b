import BLE
import BLEAssignedNumbers
import BLEDefinitions

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
                let key = CharacteristicKey(service: service.uuid, characteristic: characteristic.uuid)
                guard properties.contains(.read) || notifies && !isWritten,
                    !values.contains(where: { $0.key.overlaps(key) })
                else { continue }
                values.append(DeclaredValue(key, isRead: properties.contains(.read), isNotified: notifies))
            }
        }
        return values
    }

    /// Returns the fields of a value, in its own format or in that of the SIG.
    func fields(of value: [UInt8], _ key: CharacteristicKey) -> [SensorReading] {
        let own = formats.filter { $0.key.overlaps(key) }
        // Of formats in several services, none is that of a characteristic in any service.
        guard own.count == 1, let format = own.first?.value else { return SensorReading.fields(of: value, key) }
        return format.readings(in: value)
    }
}

extension CharacteristicKey {
    /// Whether two keys can stand for the same characteristic. One without a service stands for one in any service.
    func overlaps(_ other: CharacteristicKey) -> Bool {
        guard characteristic == other.characteristic else { return false }
        guard let service, let another = other.service else { return true }
        return service == another
    }
}
