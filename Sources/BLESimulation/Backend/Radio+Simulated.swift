public import BLE

extension Radio {
    /// An adapter on a simulated radio; see ``SimulatedRadio/addAdapter(_:)`` and
    /// ``SimulatedPeripheral/setStrength(_:adapter:)``.
    ///
    /// - Parameter adapter: the id, such as `hci1`, which is also the radio's name.
    public static func simulated(_ radio: SimulatedRadio, adapter: String) -> Radio {
        Radio(name: adapter, backend: .simulated(radio, adapter: adapter))
    }
}
