import BLE

/// What a gateway publishes of a device at once.
struct DeviceState: Sendable {
    /// The device, as in topics.
    let device: String
    /// The key of its entry in the list.
    let entry: String
    /// The name for people.
    let name: String
    /// The values, by their ids.
    let fields: [String: SensorReading]
    /// The signal strength in dBm. Nil if no advertisement was received since the last state.
    let rssi: Int?
}
