internal import BLE
internal import BLEESPHome
internal import Loop

/// The hold of a client on a peripheral, for one link.
struct ProxyHold: Equatable {
    let client: Int
    /// Tells apart the links of a peripheral.
    let link: Int
}

/// A request of a client that is under way.
struct ProxyRequest {
    let number: Int
    let address: UInt64
    let task: Task<Void, Never>
}

/// The connection of one client, and what it holds. Used in the server's isolation.
final class ProxyClient {
    let socket: StreamSocket
    var channel: MessageChannel
    var hasGreeted = false
    /// How long nothing was received, in steps of the server's checks.
    var silence = Duration.zero
    var timer: LoopTimer?

    /// The subscription to advertisements.
    var scan: Task<Void, Never>?
    var waitingAdvertisements: [RawAdvertisement] = []
    var advertisementTimer: LoopTimer?
    var scannerMode = ScannerMode.active
    var reportsSlots = false
    /// The attempts to connect, by address, and the events of their links.
    var attempts: [UInt64: Task<BoundedStream<ConnectionEvent>, any Error>] = [:]
    /// What is under way, by number.
    var requests: [Int: ProxyRequest] = [:]
    private var lastRequest = 0
    /// The last start or end of notifications of each attribute, which the next one follows.
    var subscriptions: [AttributeOfProxy: ProxyRequest] = [:]
    /// The last write to each attribute, which the next one follows.
    var writes: [AttributeOfProxy: ProxyRequest] = [:]
    /// The last write without response on each link.
    var commands: [UInt64: ProxyRequest] = [:]
    /// The number of requests without an answer.
    var requestCount = 0

    init(_ socket: StreamSocket, _ channel: consuming MessageChannel) {
        self.socket = socket
        self.channel = channel
    }

    func flush() { socket.send(channel.takeOutput()) }

    func nextRequest() -> Int {
        lastRequest += 1
        return lastRequest
    }

    func requestEnded(_ number: Int, _ attribute: AttributeOfProxy) {
        requests[number] = nil
        if subscriptions[attribute]?.number == number { subscriptions[attribute] = nil }
        if writes[attribute]?.number == number { writes[attribute] = nil }
        if commands[attribute.address]?.number == number { commands[attribute.address] = nil }
    }

    /// Cancels what uses a link that has ended.
    func cancelRequests(of address: UInt64) {
        for request in requests.values where request.address == address { request.task.cancel() }
        attempts[address] = nil
    }

    func end() {
        timer?.cancel()
        advertisementTimer?.cancel()
        scan?.cancel()
        for task in attempts.values { task.cancel() }
        for request in requests.values { request.task.cancel() }
        socket.finish()
    }
}
