internal import BLE

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

/// The numbers of the btsnoop format.
///
/// The format is that of RFC 1761 with other link types, and with times in microseconds since the year 0.
enum BTSnoop {
    static let magic = Array("btsnoop\0".utf8)
    static let version: UInt32 = 1
    static let headerCount = 16
    static let recordHeaderCount = 24
    /// The year 1970, in microseconds.
    static let epoch: Int64 = 0x00DC_DDB3_0F2F_8000
    /// More than the longest packet of HCI has, with 4 bytes of a header and 65,535 of data.
    static let maximumPacket = 66_000

    /// The form of the packets.
    enum LinkType: UInt32 {
        /// HCI packets; the kind is in the flags.
        case hci = 1001
        /// HCI packets after a byte for their kind (Core Specification 5.4, volume 4, part A, section 2).
        case uart = 1002
        /// Packets of several adapters, whose number and kind are in the flags. `btmon` writes it.
        case monitor = 2001
    }
}

/// One packet between a host and a controller.
struct HCIPacket {
    enum Kind {
        case command
        case event
        case acl
        /// The adapter was taken out or switched off: there is no packet.
        case adapterEnded
    }

    var kind: Kind
    /// Whether the host sent it.
    var isSent: Bool
    /// The number of the adapter. 0 if the file is about one adapter.
    var adapter: Int
    /// The bytes, without the byte for the kind.
    var bytes: ArraySlice<UInt8>
}

/// Reads the records of a btsnoop file, in order.
struct BTSnoopReader {
    /// One record.
    struct Record {
        /// The number of the record, from 1.
        var number: Int
        /// In microseconds since the year 0.
        var timestamp: Int64
        /// Nil for what is not about LE links: audio, notes of the system, management.
        var packet: HCIPacket?
    }

    private let bytes: [UInt8]
    private let linkType: BTSnoop.LinkType
    private var position = BTSnoop.headerCount
    private var number = 0

    /// Throws `invalidValue` for what is not such a file.
    init(_ data: Data) throws(BLEError) {
        bytes = Array(data)
        guard bytes.starts(with: BTSnoop.magic) else {
            throw BLEError(.invalidValue, "the file is not a btsnoop capture", isRetryable: false)
        }
        guard let version = Self.uint32(bytes, 8), let link = Self.uint32(bytes, 12) else {
            throw BLEError(.invalidValue, "the btsnoop capture has no header", isRetryable: false)
        }
        guard version == BTSnoop.version else {
            throw BLEError(
                .invalidValue, "a btsnoop capture of version \(version) cannot be read", isRetryable: false)
        }
        guard let linkType = BTSnoop.LinkType(rawValue: link) else {
            throw BLEError(
                .invalidValue, "a btsnoop capture of the link type \(link) cannot be read", isRetryable: false,
                remedy: "Capture HCI, with `btmon -w` or Android's HCI snoop log.")
        }
        self.linkType = linkType
    }

    /// Returns the next record; nil at the end. A record that is cut off ends the file, as if the program that wrote
    /// it was killed.
    ///
    /// Throws `invalidValue` for lengths that no record has.
    mutating func next() throws(BLEError) -> Record? {
        guard let original = Self.uint32(bytes, position), let included = Self.uint32(bytes, position + 4),
            let flags = Self.uint32(bytes, position + 8), let high = Self.uint32(bytes, position + 16),
            let low = Self.uint32(bytes, position + 20)
        else { return nil }
        number += 1
        guard included <= original, included <= BTSnoop.maximumPacket else {
            throw BLEError(
                .invalidValue,
                "record \(number) of the btsnoop capture has \(included) bytes of a packet of \(original)",
                isRetryable: false)
        }
        let start = position + BTSnoop.recordHeaderCount
        let end = start + Int(included)
        guard end <= bytes.count else { return nil }
        position = end
        return Record(
            number: number, timestamp: Int64(bitPattern: UInt64(high) << 32 | UInt64(low)),
            packet: packet(bytes[start..<end], flags))
    }

    private func packet(_ bytes: ArraySlice<UInt8>, _ flags: UInt32) -> HCIPacket? {
        let isReceived = flags & 1 == 1
        switch linkType {
        case .hci:
            let kind: HCIPacket.Kind = flags & 2 == 0 ? .acl : isReceived ? .event : .command
            return HCIPacket(kind: kind, isSent: !isReceived, adapter: 0, bytes: bytes)
        case .uart:
            let kinds: [UInt8: HCIPacket.Kind] = [1: .command, 2: .acl, 4: .event]
            guard let kind = bytes.first.flatMap({ kinds[$0] }) else { return nil }
            // A command is sent and an event is received, whatever the flags say.
            let isSent = kind == .command || (kind == .acl && !isReceived)
            return HCIPacket(kind: kind, isSent: isSent, adapter: 0, bytes: bytes.dropFirst())
        case .monitor:
            let adapter = Int(flags >> 16)
            func made(_ kind: HCIPacket.Kind, isSent: Bool = false) -> HCIPacket {
                HCIPacket(kind: kind, isSent: isSent, adapter: adapter, bytes: bytes)
            }
            switch flags & 0xFFFF {
            case 1, 9: return made(.adapterEnded)
            case 2: return made(.command, isSent: true)
            case 3: return made(.event)
            case 4: return made(.acl, isSent: true)
            case 5: return made(.acl)
            default: return nil
            }
        }
    }

    /// Returns the big-endian number at a position; nil if the file is shorter.
    private static func uint32(_ bytes: [UInt8], _ position: Int) -> UInt32? {
        guard position >= 0, position <= bytes.count - 4 else { return nil }
        return bytes[position..<position + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }
}

/// Writes a btsnoop file of the link type 1002, which `btmon -r`, Wireshark and Android's tools read.
struct BTSnoopWriter {
    private(set) var data = Data()

    init() {
        data.append(contentsOf: BTSnoop.magic)
        append(BTSnoop.version)
        append(BTSnoop.LinkType.uart.rawValue)
    }

    /// Adds a packet.
    mutating func append(_ packet: HCIPacket, timestamp: Int64) {
        let kind: UInt8 =
            switch packet.kind {
            case .command: 1
            case .acl: 2
            case .event: 4
            case .adapterEnded: 0
            }
        let count = UInt32(truncatingIfNeeded: packet.bytes.count + 1)
        append(count)
        append(count)
        append((packet.isSent ? 0 : 1) | (packet.kind == .acl ? 0 : 2))
        append(0)
        append(UInt32(truncatingIfNeeded: timestamp >> 32))
        append(UInt32(truncatingIfNeeded: timestamp))
        data.append(kind)
        data.append(contentsOf: packet.bytes)
    }

    private mutating func append(_ number: UInt32) {
        for shift in [24, 16, 8, 0] { data.append(UInt8(truncatingIfNeeded: number >> UInt32(shift))) }
    }
}
