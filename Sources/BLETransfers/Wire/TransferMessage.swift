/// A message of the protocol. `Docs/Transfers.md` has the bytes.
enum TransferMessage: Hashable, Sendable {
    /// The first part of an opening, which has `length` bytes in total.
    case open(TransferOpening.Kind, length: Int, ArraySlice<UInt8>)
    /// A further part of an opening.
    case more(ArraySlice<UInt8>)
    /// Bytes of the file.
    case data(offset: Int, ArraySlice<UInt8>)
    /// The sender asks where to go on.
    case status
    /// The receiver accepts the file, has `offset` bytes of it with that checksum, and accepts bytes up to `limit`.
    case accept(version: UInt8, offset: Int, checksum: UInt32, limit: Int)
    /// The receiver has stored `offset` bytes, and accepts bytes up to `limit`.
    case grant(offset: Int, limit: Int)
    /// The receiver lacks the bytes from `offset`.
    case resend(offset: Int, limit: Int)
    /// The receiver has the whole file, with the right checksum.
    case done
    /// The transfer has ended.
    case stop(TransferRefusal)
}

/// A message, and the transfer that it belongs to.
struct TransferPacket: Hashable, Sendable {
    /// The number that the central has chosen for the transfer.
    var token: UInt16
    var message: TransferMessage

    init(_ token: UInt16, _ message: TransferMessage) {
        self.token = token
        self.message = message
    }

    /// Why bytes are not a packet.
    enum Mistake: Error, Hashable {
        /// The type is unknown, or there is none. Such packets are ignored.
        case unknown
        /// A packet of a known type is too short.
        case tooShort(token: UInt16)
    }

    /// The number of bytes of a DATA packet before the data.
    static let dataHeaderLength = 7
    /// The length that each carrier's packets must have at least.
    static let minimumLength = 20

    private enum Kind {
        static let begin: UInt8 = 0x01, fetch: UInt8 = 0x02, more: UInt8 = 0x03, data: UInt8 = 0x04
        static let status: UInt8 = 0x05
        static let accept: UInt8 = 0x11, grant: UInt8 = 0x12, resend: UInt8 = 0x13, done: UInt8 = 0x14
        static let stop: UInt8 = 0x1F

        /// The minimum length of a packet after its token. Nil for unknown types.
        static func minimumLength(_ kind: UInt8) -> Int? {
            switch kind {
            case begin, fetch, stop: 1
            case more, status, done: 0
            case data: 4
            case accept: 13
            case grant, resend: 8
            default: nil
            }
        }
    }

    /// Decodes a packet. Bytes after those that are known are ignored, except in openings and data.
    init(decoding bytes: [UInt8]) throws(Mistake) {
        guard let kind = bytes.first, let minimum = Kind.minimumLength(kind), bytes.count >= 3 else { throw .unknown }
        token = UInt16(bytes[1]) | UInt16(bytes[2]) << 8
        let rest = bytes[3...]
        guard rest.count >= minimum else { throw .tooShort(token: token) }
        switch kind {
        case Kind.begin: message = .open(.begin, length: Int(bytes[3]), bytes[4...])
        case Kind.fetch: message = .open(.fetch, length: Int(bytes[3]), bytes[4...])
        case Kind.more: message = .more(rest)
        case Kind.data: message = .data(offset: Int(rest.uint32(at: 0)), bytes[Self.dataHeaderLength...])
        case Kind.status: message = .status
        case Kind.accept:
            message = .accept(
                version: bytes[3], offset: Int(rest.uint32(at: 1)), checksum: rest.uint32(at: 5),
                limit: Int(rest.uint32(at: 9)))
        case Kind.grant: message = .grant(offset: Int(rest.uint32(at: 0)), limit: Int(rest.uint32(at: 4)))
        case Kind.resend: message = .resend(offset: Int(rest.uint32(at: 0)), limit: Int(rest.uint32(at: 4)))
        case Kind.done: message = .done
        default: message = .stop(TransferRefusal(rawValue: bytes[3]))
        }
    }

    /// The bytes that are sent.
    var bytes: [UInt8] {
        switch message {
        case .open(let kind, let length, let part):
            head(kind == .begin ? Kind.begin : Kind.fetch, part.count + 1) { bytes in
                bytes.append(UInt8(truncatingIfNeeded: length))
                bytes += part
            }
        case .more(let part): head(Kind.more, part.count) { $0 += part }
        case .data(let offset, let data):
            head(Kind.data, 4 + data.count) { bytes in
                bytes.append(uint32: offset)
                bytes += data
            }
        case .status: head(Kind.status)
        case .accept(let version, let offset, let checksum, let limit):
            head(Kind.accept, 13) { bytes in
                bytes.append(version)
                bytes.append(uint32: offset)
                bytes.append(uint32: Int(checksum))
                bytes.append(uint32: limit)
            }
        case .grant(let offset, let limit): pair(Kind.grant, offset, limit)
        case .resend(let offset, let limit): pair(Kind.resend, offset, limit)
        case .done: head(Kind.done)
        case .stop(let refusal): head(Kind.stop, 1) { $0.append(refusal.rawValue) }
        }
    }

    private func pair(_ kind: UInt8, _ offset: Int, _ limit: Int) -> [UInt8] {
        head(kind, 8) { bytes in
            bytes.append(uint32: offset)
            bytes.append(uint32: limit)
        }
    }

    private func head(_ kind: UInt8, _ count: Int = 0, _ body: (inout [UInt8]) -> Void = { _ in }) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(3 + count)
        bytes += [kind, UInt8(truncatingIfNeeded: token), UInt8(truncatingIfNeeded: token >> 8)]
        body(&bytes)
        return bytes
    }
}
