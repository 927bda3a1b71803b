internal import BLE

/// A peripheral as it is on the simulated radio.
struct SimulatedDevice {
    var definition: PeripheralDefinition
    var attributes: SimulatedAttributes
    var isAdvertising = true
    var advertiser: Task<Void, Never>?
    var link: SimulatedLink?

    init(definition: PeripheralDefinition) {
        self.definition = definition
        attributes = SimulatedAttributes(definition.services)
    }
}

/// The link of a central to a simulated peripheral.
struct SimulatedLink {
    let port: Int
    /// What fails when the link ends.
    var operations: [Int: (BLEError) -> Void] = [:]
    var subscriptions: [UInt16: SimulatedSubscription] = [:]
    /// Handlers of writes that nobody waits for.
    var commands: [Int: Task<Void, Never>] = [:]

    init(port: Int) { self.port = port }
}

/// A central's subscription to a characteristic.
struct SimulatedSubscription {
    let number: Int
    let deliver: @Sendable ([UInt8]) -> Void
    /// The definition's handler.
    var task: Task<Void, Never>?

    init(number: Int, deliver: @escaping @Sendable ([UInt8]) -> Void) {
        self.number = number
        self.deliver = deliver
    }
}
