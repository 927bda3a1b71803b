internal import BLE
internal import BLEESPHome
internal import Loop
internal import Waiting

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
    /// Nil before the client has greeted.
    var event: ProxyEvent.Client?
    var hasGreeted: Bool { event != nil }
    /// How long nothing was received, in steps of the server's checks.
    var silence = Duration.zero
    /// The limit of its greeting, or the next check of its silence.
    var timer: (number: Int, expiry: Expiry)?

    /// Whether it is sent advertisements.
    var isScanning = false
    var advertisements = AdvertisementQueue()
    var advertisementTimer: LoopTimer?
    /// Whether the advertisements wait for room in the socket.
    var waitsForRoom = false
    /// How the client wants to scan.
    var scannerMode = ScannerMode.active
    /// What it was told last of the scanner, and of the slots.
    var toldScanner: ProxyMessage?
    var toldSlots: ProxyMessage?
    var reportsSlots = false
    /// The attempts to connect, by address, and the events of their links.
    var attempts: [UInt64: Task<BoundedStream<ConnectionEvent>, any Error>] = [:]
    /// The peripherals that it gets when the link of a client that has left has ended.
    var awaited: Set<UInt64> = []
    /// What is under way, by number.
    var requests: [Int: ProxyRequest] = [:]
    private var lastRequest = 0
    /// The last start or end of notifications of each attribute, which the next one follows.
    var subscriptions: [AttributeOfProxy: ProxyRequest] = [:]
    /// What passes on the notifications of each attribute.
    var notifications: [AttributeOfProxy: ProxyRequest] = [:]
    /// The last write to each attribute, which the next one follows.
    var writes: [AttributeOfProxy: ProxyRequest] = [:]
    /// The last write without response on each link.
    var commands: [UInt64: ProxyRequest] = [:]

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
        for (attribute, request) in notifications where request.address == address {
            request.task.cancel()
            notifications[attribute] = nil
        }
        attempts[address] = nil
    }

    func end() {
        timer?.expiry.cancel()
        advertisementTimer?.cancel()
        for task in attempts.values { task.cancel() }
        for request in requests.values { request.task.cancel() }
        for request in notifications.values { request.task.cancel() }
        socket.finish()
    }
}
