/// The message that opens a transfer, which may take several packets.
enum TransferOpening: Hashable, Sendable {
    /// What an opening is.
    enum Kind: Hashable, Sendable {
        /// The sender offers a file.
        case begin
        /// The central asks for a file.
        case fetch
    }

    /// Offers a file. `isNew` has the receiver discard what it has of it.
    case begin(TransferFile, isNew: Bool)
    /// Asks for a file.
    case fetch(name: String)

    /// The version of the protocol.
    static let version: UInt8 = 1
    private static let fileHeaderLength = 18

    /// Decodes the body of an opening, which has arrived completely.
    init(_ kind: Kind, decoding body: [UInt8]) throws(TransferRefusal) {
        guard let version = body.first else { throw .invalidMessage }
        guard version == Self.version else { throw .version }
        let headerLength = kind == .begin ? Self.fileHeaderLength : 1
        guard body.count > headerLength else { throw .invalidMessage }
        let rest = body[headerLength...]
        guard let name = String(validating: rest, as: UTF8.self), TransferFile.isValid(name: name) else {
            throw .nameRefused
        }
        switch kind {
        case .fetch: self = .fetch(name: name)
        case .begin:
            let numbers = body[2..<Self.fileHeaderLength]
            self = .begin(
                TransferFile(
                    name: name, length: Int(numbers.uint32(at: 8)), checksum: numbers.uint32(at: 12),
                    identifier: UInt64(numbers.uint32(at: 0)) | UInt64(numbers.uint32(at: 4)) << 32),
                isNew: body[1] & 1 != 0)
        }
    }

    private var kind: Kind { if case .begin = self { .begin } else { .fetch } }

    /// The body of the opening.
    var body: [UInt8] {
        switch self {
        case .fetch(let name): return [Self.version] + Array(name.utf8)
        case .begin(let file, let isNew):
            var bytes = [Self.version, isNew ? 1 : 0]
            bytes.append(uint32: Int(truncatingIfNeeded: file.identifier & 0xFFFF_FFFF))
            bytes.append(uint32: Int(truncatingIfNeeded: file.identifier >> 32))
            bytes.append(uint32: file.length)
            bytes.append(uint32: Int(file.checksum))
            return bytes + Array(file.name.utf8)
        }
    }

    /// The packets of the opening, of at most `length` bytes.
    func packets(_ token: UInt16, length: Int) -> [TransferPacket] {
        let length = max(TransferPacket.minimumLength, length)
        let body = body
        var rest = body[...]
        var packets = [TransferPacket(token, .open(kind, length: body.count, rest.prefix(length - 4)))]
        rest = rest.dropFirst(length - 4)
        while !rest.isEmpty {
            packets.append(TransferPacket(token, .more(rest.prefix(length - 3))))
            rest = rest.dropFirst(length - 3)
        }
        return packets
    }
}

/// Assembles an opening from its packets.
struct OpeningAssembler: Sendable {
    private var token: UInt16 = 0
    private var kind = TransferOpening.Kind.begin
    private var body: [UInt8] = []
    /// The length of the body. Nil if no opening has begun.
    private var length: Int?

    /// Takes a packet. Returns the opening if it is complete, and nil if more packets follow, or if the packet belongs
    /// to no opening.
    mutating func take(_ packet: TransferPacket) throws(TransferRefusal) -> TransferOpening? {
        switch packet.message {
        case .open(let kind, let length, let part):
            (token, self.kind, self.length) = (packet.token, kind, length)
            body = Array(part)
        case .more(let part):
            guard length != nil, packet.token == token else { return nil }
            body += part
        default: return nil
        }
        guard let length, body.count >= length else { return nil }
        self.length = nil
        guard body.count == length else { throw .invalidMessage }
        defer { body = [] }
        return try TransferOpening(kind, decoding: body)
    }
}
