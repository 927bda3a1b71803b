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

/// A proxy without encryption that answers the greeting alone, and keeps what it receives.
final class RawProxy: Sendable {
    private let loop = EventLoop(name: "proxy")
    private let socket: StreamSocket
    private let channel = Mutex(MessageChannel(server: nil, name: "raw", mac: "aabbccddeeff"))
    let received = SharedValue<[ProxyMessage]>([])

    private let features: ProxyFeatures

    init(_ descriptor: FileDescriptor, features: ProxyFeatures = [.connections, .rawAdvertisements]) {
        self.features = features
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
            default: received.change { $0.append(message) }
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

    func close() {
        loop.perform { [socket] in socket.close() }
    }
}
