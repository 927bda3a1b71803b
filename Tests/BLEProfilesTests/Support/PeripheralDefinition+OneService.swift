import BLE

extension PeripheralDefinition {
    /// A peripheral with one service.
    init(_ service: BluetoothUUID, _ characteristics: [CharacteristicDefinition]) {
        self.init(
            advertisement: Advertisement(rssi: -50, serviceUUIDs: [service]),
            services: [ServiceDefinition(service, characteristics: characteristics)])
    }
}
