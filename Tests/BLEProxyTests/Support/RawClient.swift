import BLE
import BLEESPHome
import BLEProxy
import BLETesting
import Loop
import Synchronization
import Waiting

/// A client of a proxy without encryption that sends any messages, in one piece, and keeps what it receives.
final class RawClient: Sendable {
    private let loop = EventLoop(name: "client")
    private let socket: StreamSocket
    private let channel = Mutex(MessageChannel(client: nil))
    private let received = SharedValue<[ProxyMessage]>([])

    /// Connects and greets.
    convenience init(_ server: ProxyServer) async throws {
        try await self.init(server, from: [])
        try await greet()
    }

    /// Connects from a source.
    init(_ server: ProxyServer, from source: [UInt8]) async throws {
        let (here, there) = try StreamSocket.pair()
        await server.accept(there, from: source)
        socket = StreamSocket(here, on: loop)
        loop.perform { [self] in socket.open(onBytes: { self.receive($0) }, onEnd: {}) }
    }

    func greet(as name: String = "test") async throws {
        send(.hello(client: name, version: .current))
        try await until { if case .helloAnswer = $0 { true } else { false } }
    }

    private func receive(_ bytes: ArraySlice<UInt8>) {
        channel.withLock { channel in
            channel.append(bytes)
            while let event = try? channel.next() {
                if case .received(let message) = event { received.change { $0.append(message) } }
            }
        }
    }

    func send(_ messages: ProxyMessage...) { send(messages) }

    func send(_ messages: [ProxyMessage]) {
        loop.perform { [self] in
            let output = channel.withLock { channel in
                for message in messages { try? channel.send(message) }
                return channel.takeOutput()
            }
            socket.send(output)
        }
    }

    /// Waits for a message, and forgets it and the earlier ones. Returns these.
    @discardableResult
    func until(_ matches: @escaping @Sendable (ProxyMessage) -> Bool) async throws -> [ProxyMessage] {
        try await received.until { $0.contains(where: matches) }
        return received.change { received in
            let end = received.firstIndex(where: matches) ?? 0
            defer { received.removeFirst(end + 1) }
            return Array(received.prefix(end))
        }
    }

    /// Waits until a peripheral was reported this many times in what was not forgotten.
    func untilReported(_ address: UInt64, times: Int) async throws {
        try await received.until { messages in
            let counts = messages.map { message in
                guard case .advertisements(let all) = message else { return 0 }
                return all.count { $0.address == address }
            }
            return counts.reduce(0, +) >= times
        }
    }

    /// Stops to read what arrives, or goes on.
    func setReading(_ isReading: Bool) async {
        let outcome = Outcome<Void>()
        loop.perform { [self] in
            if isReading { socket.resume() } else { socket.pause() }
            outcome.deliver(.success(()))
        }
        try? await outcome.wait()
    }

    func close() {
        loop.perform { [socket] in socket.close() }
    }
}

/// A proxy without encryption that answers the greeting, and keeps what it receives.
///
/// As firmware, it also does what ESPHome's does with one subscriber: it makes links, tells of them to the subscriber
/// alone, and ends them all without a word when that unsubscribes. It succeeds in pairing, whether there is a bond or not.
final class RawProxy: Sendable {
    private let loop = EventLoop(name: "proxy")
    private let socket: StreamSocket
    private let channel = Mutex(MessageChannel(server: nil, name: "raw", mac: "aabbccddeeff"))
    let received = SharedValue<[ProxyMessage]>([])

    struct Firmware: Sendable {
        var isSubscribed = false
        var links: Set<UInt64> = []
    }

    private let features: ProxyFeatures
    private let isFirmware: Bool
    let firmware = SharedValue(Firmware())

    init(
        _ descriptor: FileDescriptor, features: ProxyFeatures = [.connections, .rawAdvertisements],
        isFirmware: Bool = false
    ) {
        (self.features, self.isFirmware) = (features, isFirmware)
        socket = StreamSocket(descriptor, on: loop)
        loop.perform { [self] in socket.open(onBytes: { self.receive($0) }, onEnd: {}) }
    }

    private func receive(_ bytes: ArraySlice<UInt8>) {
        let messages = channel.withLock { channel in
            channel.append(bytes)
            var messages: [ProxyMessage] = []
            while let event = try? channel.next() {
                if case .received(let message) = event { messages.append(message) }
            }
            return messages
        }
        for message in messages {
            switch message {
            case .hello: send(.helloAnswer(version: .current, server: "raw", name: "raw"))
            case .deviceInfoRequest:
                var info = ProxyInfo()
                (info.name, info.features) = ("raw", features)
                send(.deviceInfo(info))
            case .listEntities: send(.listEntitiesDone)
            default:
                if isFirmware { for answer in answers(to: message) { send(answer) } }
                received.change { $0.append(message) }
            }
        }
    }

    private func answers(to message: ProxyMessage) -> [ProxyMessage] {
        firmware.change { firmware in
            switch message {
            case .subscribeAdvertisements:
                // A second one is refused.
                guard !firmware.isSubscribed else { return [] }
                firmware.isSubscribed = true
                return [.scannerState(.running, mode: .active, configured: .active)]
            case .unsubscribeAdvertisements:
                firmware = Firmware()
                return []
            case .request(.connectWithoutCache, let address, _):
                guard firmware.isSubscribed else { return [] }
                firmware.links.insert(address)
                return [.connection(address: address, isConnected: true, mtu: 23, error: 0)]
            case .request(.disconnect, let address, _):
                guard firmware.isSubscribed, firmware.links.remove(address) != nil else { return [] }
                return [.connection(address: address, isConnected: false, mtu: 0, error: 0x16)]
            case .request(.pair, let address, _):
                guard firmware.links.contains(address) else { return [] }
                return [.paired(address: address, isPaired: true, error: 0)]
            case .request(.unpair, let address, _):
                return [.unpaired(address: address, isUnpaired: true, error: 0)]
            case .servicesRequest(let address):
                return firmware.links.contains(address) ? [.servicesDone(address: address)] : []
            default: return []
            }
        }
    }

    func send(_ message: ProxyMessage) {
        loop.perform { [self] in
            let output = channel.withLock { channel in
                try? channel.send(message)
                return channel.takeOutput()
            }
            socket.send(output)
        }
    }

    /// Stops to read what arrives, or goes on.
    func setReading(_ isReading: Bool) async {
        let outcome = Outcome<Void>()
        loop.perform { [self] in
            if isReading { socket.resume() } else { socket.pause() }
            outcome.deliver(.success(()))
        }
        try? await outcome.wait()
    }

    func close() {
        loop.perform { [socket] in socket.close() }
    }
}
