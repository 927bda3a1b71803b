internal import BLE
internal import Waiting

/// A link of an adapter to a simulated peripheral, which all centrals on the adapter use, as bluetoothd's clients do.
final class SharedLink {
    /// The link as the peripheral's program sees it.
    let served = CentralLink()
    /// The port of the central that has made it.
    let maker: Int
    /// The current security of the link.
    var security: AttributeSecurity
    var isPairing = false
    /// The waits for the end of the pairing.
    var pairingWaiters: [Outcome<Void>] = []
    /// The connection events. Nil if there were none yet.
    var events: ConnectionEvents?
    var eventTask: Task<Void, Never>?
    /// Runs what a test does on each link.
    var script: Task<Void, Never>?
    /// What crosses the link at the next event.
    var crossing: [Outcome<Void>] = []

    /// The address of the central that the peripheral sees.
    var central: DeviceID { SimulatedRadio.central(maker) }

    init(maker: Int, security: AttributeSecurity) { (self.maker, self.security) = (maker, security) }
}

/// A central's use of a link to a simulated peripheral.
final class SimulatedLink {
    let number: Int
    /// What it has in common with the links of other centrals on the adapter.
    let shared: SharedLink
    let port: Int
    /// The id by which the central has connected to the peripheral.
    let name: Peripheral.ID
    /// The pending operations, which fail when the link ends.
    var operations: [Int: (BLEError) -> Void] = [:]
    var subscriptions: [UInt16: SimulatedSubscription] = [:]
    /// The values on their way, if one of them is disturbed.
    var outgoing: [SimulatedRadio.OutgoingValue] = []
    /// The waits for the arrival of values that were lost.
    var unanswered: [Outcome<Void>] = []
    /// The central's ends of L2CAP channels.
    var channels: [SimulatedChannelTransport] = []
    /// The channels for writes.
    var writers: [UInt16: SimulatedWriter] = [:]
    /// The running handlers of writes without response.
    var commands: [Int: Task<Void, Never>] = [:]

    init(number: Int, port: Int, name: Peripheral.ID, shared: SharedLink) {
        self.number = number
        self.port = port
        self.name = name
        self.shared = shared
    }
}

/// A central's channel for writes to a characteristic.
struct SimulatedWriter {
    let number: Int
    let channel: SimulatedSink
    /// Sends the packets to the peripheral, one after the other.
    var task: Task<Void, Never>?

    init(number: Int, channel: SimulatedSink) {
        self.number = number
        self.channel = channel
    }
}

/// A central's subscription to a characteristic.
final class SimulatedSubscription {
    let number: Int
    /// Receives a value. Returns false if there is no room for another.
    let deliver: @Sendable ([UInt8]) -> Bool
    /// Whether the values use a channel, which holds values for which the reader has no room.
    let isChannel: Bool
    private var waiting: [[UInt8]] = []
    private var isPaused = false
    /// Runs the definition's handler. Nil if the subscription of another central on the adapter has it.
    var task: Task<Void, Never>?

    /// The approximate capacity of a socket of bluetoothd.
    static let capacity = 200

    init(number: Int, isChannel: Bool, deliver: @escaping @Sendable ([UInt8]) -> Bool) {
        self.number = number
        self.isChannel = isChannel
        self.deliver = deliver
    }

    /// Delivers a value from the peripheral. The value is lost if the channel is full.
    func take(_ value: [UInt8]) {
        if isPaused {
            if waiting.count < Self.capacity { waiting.append(value) }
        } else {
            isPaused = !deliver(value) && isChannel
        }
    }

    /// Resumes delivery when there is room again.
    func resume() {
        isPaused = false
        while !isPaused, !waiting.isEmpty { isPaused = !deliver(waiting.removeFirst()) }
    }

    /// Delivers the waiting values, even without room.
    func drain() {
        for value in waiting { _ = deliver(value) }
        waiting = []
    }
}
