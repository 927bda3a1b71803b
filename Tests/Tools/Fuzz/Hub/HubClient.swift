internal import BLE
internal import BLEESPHome
internal import Loop
internal import Synchronization

/// The other end of a connection to a proxy. It keeps the answers, and answers pings.
final class HubClient: Sendable {
    /// The numbers of messages that it has received.
    struct Counts {
        var (all, links, values, errors) = (0, 0, 0, 0)
    }

    private struct Facts {
        var isEnded = false
        var counts = Counts()
        var kept: [ProxyMessage] = []
    }

    private enum Piece: Sendable {
        case message(ProxyMessage)
        case bytes([UInt8])
    }

    private let loop: EventLoop
    private let socket: StreamSocket
    private let channel: Mutex<MessageChannel>
    private let facts = Mutex(Facts())
    private let pieces = Mutex<[Piece]>([])

    /// The maximum number of answers that are kept.
    private static let capacity = 2000

    /// - Parameter begins: whether it begins the handshake, if there is a key.
    init(_ descriptor: FileDescriptor, key: EncryptionKey?, on loop: EventLoop, begins: Bool) {
        self.loop = loop
        socket = StreamSocket(descriptor, on: loop)
        channel = Mutex(MessageChannel(client: key))
        loop.perform { [self] in
            socket.open(
                onBytes: { [weak self] in self?.receive($0) },
                onEnd: { [weak self] in self?.facts.withLock { $0.isEnded = true } })
            if begins { socket.send(channel.withLock { $0.takeOutput() }) }
        }
    }

    /// Whether messages can be sent.
    var isOpen: Bool { channel.withLock { $0.isOpen } }
    var isEnded: Bool { facts.withLock(\.isEnded) }
    var counts: Counts { facts.withLock(\.counts) }
    /// The answers that were not forgotten.
    var kept: [ProxyMessage] { facts.withLock(\.kept) }

    /// Forgets the answers up to the first that matches.
    func forget(through matches: (ProxyMessage) -> Bool) {
        facts.withLock { facts in
            guard let index = facts.kept.firstIndex(where: matches) else { return }
            facts.kept.removeFirst(index + 1)
        }
    }

    private func receive(_ bytes: ArraySlice<UInt8>) {
        let (messages, output) = channel.withLock { channel in
            channel.append(bytes)
            var messages: [ProxyMessage] = []
            while let event = try? channel.next() {
                guard case .received(let message) = event else { continue }
                messages.append(message)
                if message == .ping { try? channel.send(.pingAnswer) }
            }
            return (messages, channel.takeOutput())
        }
        socket.send(output)
        facts.withLock { facts in
            facts.counts.all += messages.count
            for message in messages {
                switch message {
                case .connection(_, true, _, _): facts.counts.links += 1
                case .readAnswer, .notification: facts.counts.values += 1
                case .attributeError: facts.counts.errors += 1
                default: break
                }
                switch message {
                case .advertisements, .scannerState, .slots, .notification, .ping: break
                default: if facts.kept.count < Self.capacity { facts.kept.append(message) }
                }
            }
        }
    }

    // MARK: Sending

    func send(_ messages: [ProxyMessage]) {
        pieces.withLock { $0 += messages.map { .message($0) } }
        flush()
    }

    func send(bytes: [UInt8]) {
        pieces.withLock { $0.append(.bytes(bytes)) }
        flush()
    }

    /// Adds a message, which is sent with the others.
    func queue(_ message: ProxyMessage) { pieces.withLock { $0.append(.message(message)) } }

    /// Adds a frame of a connection without a key.
    func queue(frame type: UInt64, _ body: [UInt8]) {
        var bytes: [UInt8] = [0]
        FieldWriter.append(UInt64(body.count), to: &bytes)
        FieldWriter.append(type, to: &bytes)
        pieces.withLock { $0.append(.bytes(bytes + body)) }
    }

    /// Sends what was added, in one piece.
    func flush() {
        let pieces = pieces.withLock { pieces in
            defer { pieces = [] }
            return pieces
        }
        guard !pieces.isEmpty else { return }
        loop.perform { [self] in
            let output = channel.withLock { channel in
                var output: [UInt8] = []
                for piece in pieces {
                    switch piece {
                    case .message(let message):
                        try? channel.send(message)
                        output += channel.takeOutput()
                    case .bytes(let bytes): output += bytes
                    }
                }
                return output
            }
            socket.send(output)
        }
    }

    /// Stops to read what arrives, or goes on.
    func setReading(_ isReading: Bool) {
        loop.perform { [socket] in if isReading { socket.resume() } else { socket.pause() } }
    }

    func close() {
        flush()
        loop.perform { [self] in
            socket.close()
            facts.withLock { $0.isEnded = true }
        }
    }
}
