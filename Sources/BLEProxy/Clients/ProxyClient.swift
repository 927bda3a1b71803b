internal import BLE
internal import BLEESPHome
internal import Loop
internal import Waiting

/// A request of a client that is under way.
struct ProxyRequest {
    /// It is higher than those of all earlier requests: a request waits for lower numbers alone.
    let number: Int
    let address: UInt64
    let task: Task<Void, Never>
    /// What it starts or ends the notifications of, if it does.
    var subscription: AttributeOfProxy?
}

/// The connection of one client, and what it holds. Used in the server's isolation.
final class ProxyClient {
    let socket: StreamSocket
    var channel: MessageChannel
    /// Nil before the client has greeted.
    var event: ProxyEvent.Client?
    var hasGreeted: Bool { event != nil }
    /// The address that its connection comes from.
    let source: [UInt8]
    /// When something was received, and when it was pinged, since the beginning of the server.
    var (lastReceived, lastPing) = (Duration.zero, Duration.zero)
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
    /// Asks which peripherals have a link, to report them to it.
    var connectedReport: Task<Void, Never>?
    /// Whether it has subscribed to advertisements since the last report began.
    var isReportDue = false
    /// The links that it did not get, and what tells of them next.
    var missed: [MissedLink: Refusals<Peripheral.ID>] = [:]
    var missedTimers: [MissedLink: Expiry] = [:]
    /// What is under way, by number.
    var requests: [Int: ProxyRequest] = [:]
    /// What passes on the notifications of each attribute.
    var notifications: [AttributeOfProxy: ProxyRequest] = [:]
    /// The last write to each attribute, which the next one follows.
    var writes: [AttributeOfProxy: ProxyRequest] = [:]
    /// The last write without response on each link.
    var commands: [UInt64: ProxyRequest] = [:]
    /// The last write of a descriptor on each link. It may be one of a Client Characteristic Configuration, which
    /// what follows must not overtake.
    var descriptorWrites: [UInt64: ProxyRequest] = [:]
    /// What waits for the end of each request, and of what passes on notifications, by number.
    private var waiting: [Int: [Outcome<Void>]] = [:]

    init(_ socket: StreamSocket, _ channel: consuming MessageChannel, from source: [UInt8]) {
        self.socket = socket
        self.channel = channel
        self.source = source
    }

    /// Whether messages wait until those that have arrived together are handled, so that they are sent in one piece.
    var isHandling = false

    func flush() { if !isHandling { socket.send(channel.takeOutput()) } }

    /// The unfinished starts and ends of an attribute's notifications, of which there are at most as many as requests.
    func subscriptions(of attribute: AttributeOfProxy) -> [ProxyRequest] {
        requests.values.filter { $0.subscription == attribute }
    }

    /// Lets others wait for the end of what has this number.
    func began(_ number: Int) { waiting[number] = [] }

    /// Returns what is delivered at the end of a request. Nil if it has ended.
    func end(of number: Int) -> Outcome<Void>? {
        guard waiting[number] != nil else { return nil }
        let outcome = Outcome<Void>()
        waiting[number]?.append(outcome)
        return outcome
    }

    /// Ends the waits for what has ended.
    func ended(_ number: Int) {
        for outcome in waiting.removeValue(forKey: number) ?? [] { outcome.deliver(.success(())) }
    }

    func requestEnded(_ number: Int, _ attribute: AttributeOfProxy) {
        requests[number] = nil
        ended(number)
        if writes[attribute]?.number == number { writes[attribute] = nil }
        if commands[attribute.address]?.number == number { commands[attribute.address] = nil }
        if descriptorWrites[attribute.address]?.number == number { descriptorWrites[attribute.address] = nil }
    }

    /// Cancels what uses a link that has ended.
    func cancelRequests(of address: UInt64) {
        for request in requests.values where request.address == address { request.task.cancel() }
        for (attribute, request) in notifications where request.address == address {
            request.task.cancel()
            notifications[attribute] = nil
        }
    }

    func end() {
        timer?.expiry.cancel()
        for timer in missedTimers.values { timer.cancel() }
        advertisementTimer?.cancel()
        connectedReport?.cancel()
        for request in requests.values { request.task.cancel() }
        for request in notifications.values { request.task.cancel() }
        isHandling = false
        flush()
        socket.finish()
    }
}
