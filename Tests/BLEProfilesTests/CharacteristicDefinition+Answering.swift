import BLE
import BLETestSupport

extension CharacteristicDefinition {
    /// A control point that indicates what `answer` makes of a request, and nothing when that is nil.
    static func answering(
        _ uuid: BluetoothUUID, with answer: @escaping @Sendable ([UInt8]) -> [UInt8]?
    ) -> CharacteristicDefinition {
        let notifier = SharedValue<Notifier?>(nil)
        return CharacteristicDefinition(
            uuid, [.write, .indicate],
            onWrite: { request, _ in
                if let bytes = answer(request) { await notifier.value?.notify(bytes) }
            }, onSubscribe: { new in notifier.change { $0 = new } })
    }
}

extension PeripheralDefinition {
    /// A peripheral with one service.
    init(_ service: BluetoothUUID, _ characteristics: [CharacteristicDefinition]) {
        self.init(
            advertisement: Advertisement(rssi: -50, serviceUUIDs: [service]),
            services: [ServiceDefinition(service, characteristics: characteristics)])
    }
}
