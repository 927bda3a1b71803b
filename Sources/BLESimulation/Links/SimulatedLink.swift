internal import BLE
internal import Waiting

/// A link of an adapter to a simulated peripheral, which all centrals on the adapter use, as bluetoothd's clients do.
final class SharedLink {
    /// The link as the peripheral's program sees it.
    let served = CentralLink()
    /// The port of the central that has made it.
    let maker: Int
    /// The number of links that the peripheral had before.
    let ordinal: Int
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
    /// The values on their way, if one of them is disturbed or waits for a connection event.
    var outgoing = Fifo<OutgoingValue>()
    /// Whether a value of ``outgoing`` is being sent.
    var isSending = false
    /// The confirmations of indications that were lost.
    var unanswered: [Outcome<Void>] = []
    /// Whether the central has yet to confirm an indication for whose confirmation no handler waits.
    var isUnconfirmed = false
    /// The indications that wait for that confirmation.
    var indications = Fifo<WaitingIndication>()
    /// The running handlers of writes without response, which go on when their central leaves the link to others.
    var commands: [Int: Task<Void, Never>] = [:]
    /// The channels for writes, by their numbers.
    var writers: [Int: SimulatedWriter] = [:]

    /// The address of the central that the peripheral sees.
    var central: DeviceID { SimulatedRadio.central(maker) }

    init(maker: Int, ordinal: Int, security: AttributeSecurity) {
        (self.maker, self.ordinal, self.security) = (maker, ordinal, security)
    }

    /// Returns the open channel for writes to a characteristic, of any central on the adapter.
    func writer(to handle: UInt16) -> SimulatedWriter? {
        writers.values.first { $0.handle == handle && !$0.channel.isClosed }
    }

    /// Closes the channels for writes to characteristics that are gone, without sending what waits in them: their
    /// handles may be those of others now.
    func closeWriters(where isGone: (_ handle: UInt16) -> Bool) {
        for (number, writer) in writers.sorted(by: { $0.key < $1.key }) where isGone(writer.handle) {
            writers[number] = nil
            writer.task?.cancel()
            writer.channel.close()
        }
    }
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
    /// The central's ends of L2CAP channels.
    var channels: [SimulatedChannelTransport] = []

    init(number: Int, port: Int, name: Peripheral.ID, shared: SharedLink) {
        self.number = number
        self.port = port
        self.name = name
        self.shared = shared
    }
}

/// A central's channel for writes to a characteristic.
final class SimulatedWriter {
    let handle: UInt16
    /// The port of the central.
    let port: Int
    let channel: SimulatedSink
    /// Sends the packets to the peripheral, one after the other.
    var task: Task<Void, Never>?

    init(_ handle: UInt16, port: Int, channel: SimulatedSink) {
        (self.handle, self.port, self.channel) = (handle, port, channel)
    }
}

/// An indication that is not sent before the central has confirmed an earlier one.
struct WaitingIndication {
    let value: [UInt8]
    let handle: UInt16
    /// The identity of the characteristic that sends it.
    let characteristic: Int
    /// Delivered when it has arrived. Nil if no handler waits for its confirmation.
    let arrival: Outcome<Void>?
    /// Delivered when it is on its way. Nil if nobody waits for that.
    let departure: Outcome<Void>?
}

/// A value on its way over a link, behind one that is disturbed or waits.
struct OutgoingValue {
    let value: [UInt8]
    let handle: UInt16
    /// The identity of the characteristic that has sent it.
    let characteristic: Int
    /// `notify` or `indicate`.
    let kind: SimulatedEvent.Kind
    let disturbances: [FaultPlan.Disturbance]
    /// Its arrival over the link. Nil if it has no connection events.
    let crossing: Outcome<Void>?
    /// Delivered when an indication has arrived. Nil for a notification.
    let arrival: Outcome<Void>?
}
