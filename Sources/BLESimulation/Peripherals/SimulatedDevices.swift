internal import BLE

/// The peripherals of a radio, by their ids, and by the private addresses under which centrals know them.
struct SimulatedDevices {
    private var devices: [Peripheral.ID: SimulatedDevice] = [:]
    /// The ids of peripherals, by private address.
    private var ids: [Peripheral.ID: Peripheral.ID] = [:]

    var keys: some Collection<Peripheral.ID> { devices.keys }
    var all: some Collection<SimulatedDevice> { devices.values }

    /// The peripheral with that id or private address.
    subscript(name: Peripheral.ID) -> SimulatedDevice? { devices[name] ?? ids[name].flatMap { devices[$0] } }

    mutating func add(_ device: SimulatedDevice) { devices[device.id] = device }

    mutating func remove(_ id: Peripheral.ID) {
        devices[id] = nil
        if !ids.isEmpty { ids = ids.filter { $0.value != id } }
    }

    mutating func addName(_ name: Peripheral.ID, of device: SimulatedDevice) { ids[name] = device.id }

    mutating func removeName(_ name: Peripheral.ID) { ids[name] = nil }

    /// Returns the id of the peripheral with that id or private address.
    func id(of name: Peripheral.ID) -> Peripheral.ID { ids[name] ?? name }
}
