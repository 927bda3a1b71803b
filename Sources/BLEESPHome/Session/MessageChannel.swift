/// The messages of one connection, plain or encrypted, on either side: bytes in and out, messages out and in.
///
/// It cannot be copied, because its ciphers cannot.
package struct MessageChannel: ~Copyable {
    package enum Event: Hashable, Sendable {
        /// The handshake is complete: messages can be sent. The name and the address are those of a proxy that
        /// encrypts; a plain connection has no such event.
        case opened(name: String, mac: String)
        case received(ProxyMessage)
    }

    private enum Step {
        /// Waiting for the hello of the other side.
        case hello
        /// Waiting for the other side's message of the handshake.
        case handshake
        case open
        case failed
    }

    private enum Side {
        case client
        case server(name: String, mac: String)
    }

    /// The reason that a proxy gives for a wrong key.
    private static let wrongKey = "Handshake MAC failure"
    private static let prologue = Array("NoiseAPIInit".utf8)
    /// The maximum length of a frame for a client, and for a proxy during the handshake and afterward, in bytes.
    private static let (clientLimit, handshakeLimit, serverLimit) = (65_535, 128, 32_768)

    private let side: Side
    private let key: EncryptionKey?
    private var frames: FrameReader
    private var step: Step
    private var handshake: NoiseHandshake?
    private var ciphers: NoiseCiphers?
    private var output: [UInt8] = []
    /// The version of the other side, which decides how messages are written.
    package var version = APIVersion.current

    /// Begins as a client. The output has the first two frames of the handshake if there is a key.
    package init(client key: EncryptionKey?) {
        side = .client
        self.key = key
        frames = FrameReader(key == nil ? .plain : .encrypted, maximumLength: Self.clientLimit)
        step = key == nil ? .open : .hello
        guard let key else { return }
        var handshake = NoiseHandshake(.initiator, key: key, prologue: Self.prologue + [0, 0])
        // The first step is never out of order.
        let message = (try? handshake.write()) ?? []
        self.handshake = consume handshake
        appendFrame([])
        appendFrame([0] + message)
    }

    /// Begins as a proxy. A client without the key learns the name and the address.
    ///
    /// - Parameter mac: 12 hexadecimal digits.
    package init(server key: EncryptionKey?, name: String, mac: String) {
        side = .server(name: name, mac: mac)
        self.key = key
        frames = FrameReader(
            key == nil ? .plain : .encrypted, maximumLength: key == nil ? Self.serverLimit : Self.handshakeLimit)
        step = key == nil ? .open : .hello
    }

    /// Whether messages can be sent.
    package var isOpen: Bool { step == .open }
    package var isEncrypted: Bool { key != nil }

    /// Returns what is to be sent since the last call.
    package mutating func takeOutput() -> [UInt8] {
        defer { output = [] }
        return output
    }

    /// Adds bytes that have arrived. Call ``next()`` until it returns nil before the next ones.
    package mutating func append(_ bytes: some Collection<UInt8>) { frames.append(bytes) }

    /// Returns the next event. Nil if it has not arrived completely.
    ///
    /// Throws an error after which the connection must be closed, once the output is sent.
    package mutating func next() throws(WireError) -> Event? {
        guard step != .failed else { return nil }
        do throws(WireError) {
            while let frame = try frames.next() {
                if let event = try handle(frame) { return event }
            }
            return nil
        } catch {
            // A client notices by the first byte whether the proxy encrypts.
            if case .server = side {
                let reason = Array("Bad indicator byte".utf8)
                if error == .isNotEncrypted { appendFrame([1] + reason) }
                if error == .isEncrypted { output += [0] + reason }
            }
            step = .failed
            throw error
        }
    }

    /// Adds a message to the output. Throws `frameTooLong`, and `outOfOrder` before the end of the handshake.
    package mutating func send(_ message: ProxyMessage) throws(WireError) {
        guard step == .open else { throw .outOfOrder }
        let (type, body) = message.encoded(for: version)
        let maximum = if case .client = side { Self.serverLimit } else { Self.clientLimit }
        let length = body.count + (key == nil ? 0 : 4 + NoiseCipher.overhead)
        guard length <= maximum else { throw .frameTooLong(count: length, maximum: maximum) }
        guard key != nil else {
            output.append(0)
            FieldWriter.append(UInt64(body.count), to: &output)
            FieldWriter.append(UInt64(type), to: &output)
            output += body
            return
        }
        let count = UInt16(truncatingIfNeeded: body.count)
        let head = [UInt8(type >> 8), UInt8(type & 0xFF), UInt8(count >> 8), UInt8(count & 0xFF)]
        appendFrame(try ciphers!.sending.seal(head + body))
    }

    private mutating func appendFrame(_ content: [UInt8]) {
        output += [1, UInt8(content.count >> 8), UInt8(content.count & 0xFF)]
        output += content
    }

    // MARK: Frames

    private mutating func handle(_ frame: FrameReader.Frame) throws(WireError) -> Event? {
        switch (frame, step) {
        case (.plain(let type, let body), .open): return .received(try ProxyMessage(type: type, body))
        case (.encrypted(let content), .hello): try handleHello(content)
        case (.encrypted(let content), .handshake): return try handleHandshake(content)
        case (.encrypted(let content), .open):
            let plain = try ciphers!.receiving.open(content)
            guard plain.count >= 4 else { throw .truncated }
            // Clients do not rely on the length, which follows the number.
            return .received(try ProxyMessage(type: UInt64(plain[0]) << 8 | UInt64(plain[1]), plain[4...]))
        default: throw .outOfOrder
        }
        return nil
    }

    private var serverName = ""
    private var serverMAC = ""

    private mutating func handleHello(_ content: ArraySlice<UInt8>) throws(WireError) {
        step = .handshake
        switch side {
        case .client:
            // The number of the protocol that the proxy has chosen: there is only one.
            guard content.first == 1 else { throw .invalidHandshake }
            let texts = content.dropFirst().split(separator: 0, maxSplits: 2, omittingEmptySubsequences: false)
            // Text without its end is of an earlier version, and says nothing.
            if texts.count > 1 { serverName = String(decoding: texts[0], as: UTF8.self) }
            if texts.count > 2 { serverMAC = String(decoding: texts[1], as: UTF8.self) }
        case .server(let name, let mac):
            guard let key else { throw .outOfOrder }
            let length = [UInt8(content.count >> 8), UInt8(content.count & 0xFF)]
            handshake = NoiseHandshake(.responder, key: key, prologue: Self.prologue + length + Array(content))
            appendFrame([1] + Array(name.utf8) + [0] + Array(mac.utf8) + [0])
        }
    }

    private mutating func handleHandshake(_ content: ArraySlice<UInt8>) throws(WireError) -> Event {
        switch side {
        case .client:
            guard content.first == 0 else {
                let reason = String(decoding: content.dropFirst().prefix(Self.handshakeLimit), as: UTF8.self)
                throw content.isEmpty
                    ? .invalidHandshake : reason == Self.wrongKey ? .wrongKey : .handshakeRefused(reason)
            }
            try handshake!.read(content.dropFirst())
        case .server:
            do throws(WireError) {
                guard content.first == 0 else { throw .invalidHandshake }
                try handshake!.read(content.dropFirst())
                appendFrame([0] + (try handshake!.write()))
            } catch {
                appendFrame([1] + Array((error == .wrongKey ? Self.wrongKey : "Handshake error").utf8))
                throw error
            }
            frames.maximumLength = Self.serverLimit
        }
        ciphers = try handshake!.split()
        handshake = nil
        step = .open
        return .opened(name: serverName, mac: serverMAC)
    }
}
