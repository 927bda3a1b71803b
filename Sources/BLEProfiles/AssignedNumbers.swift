public import BLE

/// Names of services, characteristics and descriptors that the Bluetooth SIG has assigned (Assigned Numbers, sections 3.4
/// to 3.8), with the spelling of its `org.bluetooth.…` identifiers, words joined by dashes.
public enum AssignedNumbers {
    /// The name of a service, such as `heart-rate`; nil where the SIG has not assigned the UUID.
    public static func serviceName(_ uuid: BluetoothUUID) -> String? {
        services.first { BluetoothUUID($0.uuid) == uuid }?.name
    }

    /// The name of a characteristic, such as `heart-rate-measurement`.
    public static func characteristicName(_ uuid: BluetoothUUID) -> String? {
        characteristics.first { BluetoothUUID($0.uuid) == uuid }?.name
    }

    /// The name of a descriptor, such as `characteristic-user-description`.
    public static func descriptorName(_ uuid: BluetoothUUID) -> String? {
        descriptors.first { BluetoothUUID($0.uuid) == uuid }?.name
    }

    /// The service of that name or UUID text; nil when it is neither.
    public static func service(_ text: String) -> BluetoothUUID? {
        BluetoothUUID(text) ?? services.first { $0.name == normalized(text) }.map { BluetoothUUID($0.uuid) }
    }

    /// The characteristic of that name or UUID text; nil when it is neither.
    public static func characteristic(_ text: String) -> BluetoothUUID? {
        BluetoothUUID(text) ?? characteristics.first { $0.name == normalized(text) }.map { BluetoothUUID($0.uuid) }
    }

    private static func normalized(_ text: String) -> String {
        String(text.lowercased().map { $0 == "_" || $0 == " " ? "-" : $0 })
    }

    private static let services: [(uuid: UInt32, name: String)] = [
        (0x1800, "generic-access"), (0x1801, "generic-attribute"), (0x1802, "immediate-alert"), (0x1803, "link-loss"),
        (0x1804, "tx-power"), (0x1805, "current-time"), (0x1806, "reference-time-update"),
        (0x1807, "next-dst-change"), (0x1808, "glucose"), (0x1809, "health-thermometer"),
        (0x180A, "device-information"), (0x180D, "heart-rate"), (0x180E, "phone-alert-status"), (0x180F, "battery"),
        (0x1810, "blood-pressure"), (0x1811, "alert-notification"), (0x1812, "human-interface-device"),
        (0x1813, "scan-parameters"), (0x1814, "running-speed-and-cadence"), (0x1815, "automation-io"),
        (0x1816, "cycling-speed-and-cadence"), (0x1818, "cycling-power"), (0x1819, "location-and-navigation"),
        (0x181A, "environmental-sensing"), (0x181B, "body-composition"), (0x181C, "user-data"),
        (0x181D, "weight-scale"), (0x181E, "bond-management"), (0x181F, "continuous-glucose-monitoring"),
        (0x1821, "indoor-positioning"), (0x1822, "pulse-oximeter"), (0x1826, "fitness-machine"),
        (0x1827, "mesh-provisioning"), (0x1828, "mesh-proxy"), (0x183A, "insulin-delivery"),
    ]

    private static let characteristics: [(uuid: UInt32, name: String)] = [
        (0x2A00, "device-name"), (0x2A01, "appearance"), (0x2A02, "peripheral-privacy-flag"),
        (0x2A04, "peripheral-preferred-connection-parameters"), (0x2A05, "service-changed"), (0x2A06, "alert-level"),
        (0x2A07, "tx-power-level"), (0x2A08, "date-time"), (0x2A0F, "local-time-information"),
        (0x2A14, "reference-time-information"), (0x2A19, "battery-level"), (0x2A1C, "temperature-measurement"),
        (0x2A1D, "temperature-type"), (0x2A1E, "intermediate-temperature"), (0x2A21, "measurement-interval"),
        (0x2A23, "system-id"), (0x2A24, "model-number-string"), (0x2A25, "serial-number-string"),
        (0x2A26, "firmware-revision-string"), (0x2A27, "hardware-revision-string"),
        (0x2A28, "software-revision-string"), (0x2A29, "manufacturer-name-string"),
        (0x2A2A, "ieee-11073-20601-regulatory-certification-data-list"), (0x2A2B, "current-time"),
        (0x2A35, "blood-pressure-measurement"), (0x2A36, "intermediate-cuff-pressure"),
        (0x2A37, "heart-rate-measurement"), (0x2A38, "body-sensor-location"), (0x2A39, "heart-rate-control-point"),
        (0x2A49, "blood-pressure-feature"), (0x2A50, "pnp-id"), (0x2A52, "record-access-control-point"),
        (0x2A53, "rsc-measurement"), (0x2A54, "rsc-feature"), (0x2A55, "sc-control-point"), (0x2A5B, "csc-measurement"),
        (0x2A5C, "csc-feature"), (0x2A5D, "sensor-location"), (0x2A5E, "plx-spot-check-measurement"),
        (0x2A5F, "plx-continuous-measurement"), (0x2A60, "plx-features"), (0x2A63, "cycling-power-measurement"),
        (0x2A65, "cycling-power-feature"), (0x2A6D, "pressure"), (0x2A6E, "temperature"), (0x2A6F, "humidity"),
        (0x2A98, "weight"), (0x2A99, "database-change-increment"), (0x2A9D, "weight-measurement"),
        (0x2A9E, "weight-scale-feature"), (0x2AA6, "central-address-resolution"),
        (0x2AC9, "resolvable-private-address-only"),
        (0x2B29, "client-supported-features"), (0x2B2A, "database-hash"), (0x2B3A, "server-supported-features"),
    ]

    private static let descriptors: [(uuid: UInt32, name: String)] = [
        (0x2900, "characteristic-extended-properties"), (0x2901, "characteristic-user-description"),
        (0x2902, "client-characteristic-configuration"), (0x2903, "server-characteristic-configuration"),
        (0x2904, "characteristic-presentation-format"), (0x2905, "characteristic-aggregate-format"),
    ]
}
