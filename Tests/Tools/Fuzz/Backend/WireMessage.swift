internal import DBus

/// A message in the format of the bus, which may be valid or invalid in any way.
///
/// Written from the D-Bus specification's chapter "Message Protocol", independently of the framework's own writer.
struct WireMessage {
    enum Kind: UInt8 {
        case call = 1
        case answer = 2
        case error = 3
        case signal = 4
    }

    var kind: Kind
    var serial: UInt32 = 1
    var wantsNoReply = false
    var path: String?
    var interface: String?
    var member: String?
    var errorName: String?
    var replySerial: UInt32?
    var destination: String?
    var sender: String?
    var body: [DBusValue] = []
    /// The number of file descriptors that are sent with it.
    var descriptorCount = 0
    var isBigEndian = false

    var bytes: [UInt8] {
        var body = WireWriter(isBigEndian: isBigEndian)
        for value in self.body { body.write(value) }
        var writer = WireWriter(isBigEndian: isBigEndian)
        writer.bytes = [UInt8(ascii: isBigEndian ? "B" : "l"), kind.rawValue, wantsNoReply ? 1 : 0, 1]
        writer.number(UInt32(body.bytes.count))
        writer.number(serial)
        let signature = self.body.map(\.signature).joined()
        let fields: [(UInt8, DBusValue?)] = [
            (1, path.map { .objectPath($0) }), (2, interface.map { .string($0) }), (3, member.map { .string($0) }),
            (4, errorName.map { .string($0) }), (5, replySerial.map { .uint32($0) }),
            (6, destination.map { .string($0) }), (7, sender.map { .string($0) }),
            (8, signature.isEmpty ? nil : .signature(signature)),
            (9, descriptorCount > 0 ? .uint32(UInt32(descriptorCount)) : nil),
        ]
        writer.write(
            .array(
                element: "(yv)",
                fields.compactMap { code, value in value.map { .structure([.byte(code), .variant($0)]) } }))
        writer.align(to: 8)
        return writer.bytes + body.bytes
    }
}

/// Writes values in the format of the bus.
struct WireWriter {
    var bytes: [UInt8] = []
    let isBigEndian: Bool

    init(isBigEndian: Bool) { self.isBigEndian = isBigEndian }

    mutating func align(to alignment: Int) {
        while bytes.count % alignment != 0 { bytes.append(0) }
    }

    mutating func number<Number: FixedWidthInteger>(_ number: Number) {
        align(to: Number.bitWidth / 8)
        withUnsafeBytes(of: isBigEndian ? number.bigEndian : number.littleEndian) { bytes += $0 }
    }

    private mutating func text(_ text: String) {
        number(UInt32(text.utf8.count))
        bytes += text.utf8
        bytes.append(0)
    }

    /// Also writes a signature that is too long for its length byte.
    private mutating func signature(_ text: String) {
        bytes.append(UInt8(truncatingIfNeeded: text.utf8.count))
        bytes += text.utf8
        bytes.append(0)
    }

    private static func alignment(of type: Character?) -> Int {
        switch type {
        case "n", "q": 2
        case "b", "i", "u", "h", "s", "o", "a": 4
        case "x", "t", "d", "(", "{": 8
        default: 1
        }
    }

    private mutating func array(of element: String, _ write: (inout WireWriter) -> Void) {
        number(UInt32(0))
        let place = bytes.count - 4
        align(to: Self.alignment(of: element.first))
        let start = bytes.count
        write(&self)
        var count = WireWriter(isBigEndian: isBigEndian)
        count.number(UInt32(bytes.count - start))
        bytes.replaceSubrange(place..<place + 4, with: count.bytes)
    }

    mutating func write(_ value: DBusValue) {
        switch value {
        case .byte(let value): bytes.append(value)
        case .boolean(let value): number(UInt32(value ? 1 : 0))
        case .int16(let value): number(value)
        case .uint16(let value): number(value)
        case .int32(let value): number(value)
        case .uint32(let value): number(value)
        case .int64(let value): number(value)
        case .uint64(let value): number(value)
        case .double(let value): number(value.bitPattern)
        case .unixFD(let value): number(value)
        case .string(let value), .objectPath(let value): text(value)
        case .signature(let value): signature(value)
        case .bytes(let value): array(of: "y") { $0.bytes += value }
        case .array(let element, let values): array(of: element) { for value in values { $0.write(value) } }
        case .dictionary(_, _, let entries):
            array(of: "{") { writer in
                for (key, value) in entries.sorted(by: { "\($0.key)" < "\($1.key)" }) {
                    writer.align(to: 8)
                    writer.write(key)
                    writer.write(value)
                }
            }
        case .structure(let members):
            align(to: 8)
            for member in members { write(member) }
        case .variant(let value):
            signature(value.signature)
            write(value)
        }
    }
}
