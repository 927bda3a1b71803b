internal import DBus
internal import Glibc

/// A bus and its other members, for one client: sockets, the handshake, whole messages. The caller decides which
/// messages are sent.
///
/// Used on one thread.
final class HostileBus {
    /// One connection of the client's.
    final class Client {
        let descriptor: Int32
        let name: String
        fileprivate(set) var isReady = false
        fileprivate(set) var isClosed = false
        fileprivate var inbox: [UInt8] = []
        fileprivate var lastSerial: UInt32 = 0

        init(_ descriptor: Int32, _ name: String) { (self.descriptor, self.name) = (descriptor, name) }

        deinit { close(descriptor) }
    }

    /// A message from the client.
    struct Heard {
        let kind: UInt8
        let serial: UInt32
        let replySerial: UInt32
        let path: String
        let interface: String
        let member: String
        let arguments: [DBusValue]
        let wantsReply: Bool
    }

    let address: String
    private let listener: Int32
    private var clients: [Client] = []
    private var lastName = 0
    var onMessage: (Client, Heard) -> Void = { _, _ in }

    init(_ name: String) {
        address = "unix:abstract=\(name)"
        listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var place = sockaddr_un()
        place.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &place.sun_path) { path in
            for (index, byte) in name.utf8.enumerated() { path[index + 1] = byte }
        }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + 1 + name.utf8.count)
        let isBound = withUnsafePointer(to: &place) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(listener, $0, length) == 0 }
        }
        precondition(isBound && listen(listener, 16) == 0, "no socket to listen on")
    }

    deinit { close(listener) }

    /// The client's connection.
    var client: Client? { clients.last { $0.isReady } }

    func drop(_ client: Client) {
        client.isClosed = true
        client.isReady = false
        _ = shutdown(client.descriptor, Int32(SHUT_RDWR))
        clients.removeAll { $0 === client }
    }

    // MARK: Sending

    /// Sends a message, and returns its number on that connection.
    @discardableResult func send(_ message: WireMessage, to client: Client, descriptor: Int32? = nil) -> UInt32 {
        var message = message
        client.lastSerial += 1
        message.serial = client.lastSerial
        if let descriptor {
            message.descriptorCount = 1
            send(message.bytes, beside: descriptor, to: client)
        } else {
            send(message.bytes, to: client)
        }
        return message.serial
    }

    func send(_ bytes: [UInt8], to client: Client) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(client.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return drop(client) }
            rest = rest.dropFirst(count)
        }
    }

    private func send(_ bytes: [UInt8], beside descriptor: Int32, to client: Client) {
        // A cmsghdr: length, level, type, and the descriptor.
        var control = WireWriter(isBigEndian: false)
        control.number(UInt64(20))
        control.number(Int32(SOL_SOCKET))
        control.number(Int32(0x01))
        control.number(descriptor)
        control.align(to: 8)
        var (bytes, rights) = (bytes, control.bytes)
        let count = bytes.withUnsafeMutableBytes { bytes in
            rights.withUnsafeMutableBytes { rights in
                var part = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
                return withUnsafeMutablePointer(to: &part) { part in
                    var header = msghdr()
                    header.msg_iov = part
                    header.msg_iovlen = 1
                    header.msg_control = rights.baseAddress
                    header.msg_controllen = rights.count
                    return sendmsg(client.descriptor, &header, Int32(MSG_NOSIGNAL))
                }
            }
        }
        if count < 0 { return drop(client) }
        if count < bytes.count { send(Array(bytes[count...]), to: client) }
    }

    // MARK: Receiving

    /// Receives messages until `isDone`, at most `limit` seconds. Returns false when the limit is reached.
    @discardableResult func pump(atMost limit: Double = 30, until isDone: () -> Bool) -> Bool {
        let start = Self.now
        while !isDone() {
            if Self.now - start > limit { return false }
            turn(waiting: 1)
        }
        return true
    }

    static var now: Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// Receives the messages that have arrived.
    func turn(waiting milliseconds: Int32 = 0) {
        let clients = clients
        var polled = ([listener] + clients.map(\.descriptor)).map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        guard poll(&polled, nfds_t(polled.count), milliseconds) > 0 else { return }
        if polled[0].revents != 0 { accept() }
        for (client, state) in zip(clients, polled.dropFirst()) where state.revents != 0 { receive(client) }
    }

    private func accept() {
        let descriptor = Glibc.accept(listener, nil, nil)
        guard descriptor >= 0 else { return }
        lastName += 1
        clients.append(Client(descriptor, ":1.\(100 + lastName)"))
    }

    private func receive(_ client: Client) {
        let count = withUnsafeTemporaryAllocation(byteCount: 65536, alignment: 8) { space in
            let count = recv(client.descriptor, space.baseAddress, space.count, Int32(MSG_DONTWAIT))
            if count > 0 { client.inbox += space[..<count] }
            return count
        }
        if count == 0 || count < 0 && errno != EAGAIN && errno != EINTR { return drop(client) }
        while !client.isReady, !client.isClosed, let end = client.inbox.firstIndex(of: UInt8(ascii: "\n")) {
            let line = String(decoding: client.inbox[..<end].drop { $0 == 0 }, as: UTF8.self)
            client.inbox.removeFirst(end + 1)
            shakeHands(client, line)
        }
        guard client.isReady else { return }
        var start = 0
        while !client.isClosed, let length = Self.length(of: client.inbox[start...]) {
            let heard = Self.read(Array(client.inbox[start..<start + length]))
            start += length
            if let heard { onMessage(client, heard) }
        }
        client.inbox.removeFirst(start)
    }

    private func shakeHands(_ client: Client, _ line: String) {
        if line.hasPrefix("AUTH EXTERNAL ") {
            send(Array("OK 0123456789abcdef0123456789abcdef\r\n".utf8), to: client)
        } else if line.hasPrefix("NEGOTIATE_UNIX_FD") {
            send(Array("AGREE_UNIX_FD\r\n".utf8), to: client)
        } else if line.hasPrefix("BEGIN") {
            client.isReady = true
        } else {
            send(Array("REJECTED EXTERNAL\r\n".utf8), to: client)
        }
    }

    private static func length(of bytes: ArraySlice<UInt8>) -> Int? {
        guard bytes.count >= 16 else { return nil }
        let length = bytes.withUnsafeBytes { try? IncomingMessage.length($0) }
        guard let length, length <= bytes.count else { return nil }
        return length
    }

    private static func read(_ bytes: [UInt8]) -> Heard? {
        bytes.withUnsafeBytes { bytes in
            guard let message = try? IncomingMessage(bytes) else { return nil }
            var (body, arguments) = (message.body, [DBusValue]())
            while !body.isAtEnd, let value = try? body.value() { arguments.append(value) }
            return Heard(
                kind: bytes[1], serial: message.serial, replySerial: message.replySerial, path: message.path.string,
                interface: message.interface.string, member: message.member.string, arguments: arguments,
                wantsReply: !message.wantsNoReply)
        }
    }
}
