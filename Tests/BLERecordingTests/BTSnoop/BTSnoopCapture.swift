import BLE
import BLERecording
import FoundationEssentials

/// Builds captures from packets, and takes them apart.
struct BTSnoopCapture {
    struct Record {
        /// 1 for a command, 2 for data, 4 for an event.
        var kind: UInt8
        var isSent: Bool
        var bytes: [UInt8]
        var timestamp: UInt64
    }

    var records: [Record] = []

    /// One second after the beginning of 1970.
    static let start: UInt64 = 0x00DC_DDB3_0F2F_8000 + 1_000_000

    init() {}

    /// Takes apart a capture of the link type 1002.
    init(_ data: Data) {
        let bytes = Array(data)
        var position = 16
        while position < bytes.count {
            let count = Self.number(bytes[position + 4..<position + 8])
            let end = position + 24 + Int(count)
            records.append(
                Record(
                    kind: bytes[position + 24], isSent: bytes[position + 11] & 1 == 0,
                    bytes: Array(bytes[position + 25..<end]),
                    timestamp: Self.number(bytes[position + 16..<position + 24])))
            position = end
        }
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }

    // MARK: Packets

    private mutating func add(_ kind: UInt8, isSent: Bool, _ bytes: [UInt8]) {
        let timestamp = Self.start + 1000 * UInt64(records.count)
        records.append(Record(kind: kind, isSent: isSent, bytes: bytes, timestamp: timestamp))
    }

    mutating func command(_ opcode: UInt16, _ parameters: [UInt8]) {
        add(1, isSent: true, [UInt8(opcode & 0xFF), UInt8(opcode >> 8), UInt8(parameters.count)] + parameters)
    }

    mutating func event(_ code: UInt8, _ parameters: [UInt8]) {
        add(4, isSent: false, [code, UInt8(parameters.count)] + parameters)
    }

    /// Adds a link with the handle 0x40 to F0:00:00:00:00:01.
    mutating func connection(role: UInt8 = 0, status: UInt8 = 0) {
        let peer: [UInt8] = [1, 1, 0, 0, 0, 0, 0xF0]
        event(0x3E, [1, status, 0x40, 0, role] + peer + [0x28, 0, 0, 0, 0x2A, 0, 0])
    }

    mutating func disconnection(reason: UInt8) { event(0x05, [0, 0x40, 0, reason]) }

    /// Adds a fragment on that link.
    mutating func fragment(_ bytes: [UInt8], isSent: Bool, isFirst: Bool) {
        let boundary: UInt8 = isFirst ? (isSent ? 0 : 0x20) : 0x10
        add(2, isSent: isSent, [0x40, boundary, UInt8(bytes.count), 0] + bytes)
    }

    mutating func frame(_ channel: UInt8, _ payload: [UInt8], isSent: Bool) {
        fragment([UInt8(payload.count), 0, channel, 0] + payload, isSent: isSent, isFirst: true)
    }

    mutating func request(_ pdu: UInt8...) { frame(4, pdu, isSent: true) }
    mutating func response(_ pdu: UInt8...) { frame(4, pdu, isSent: false) }

    /// Adds a legacy report about F0:00:00:00:00:02.
    mutating func report(_ type: UInt8, _ data: [UInt8], rssi: Int8 = -50, address: UInt8 = 2) {
        let subject: [UInt8] = [1, address, 0, 0, 0, 0, 0xF0, UInt8(data.count)]
        event(0x3E, [2, 1, type] + subject + data + [UInt8(bitPattern: rssi)])
    }

    // MARK: Files

    /// The capture as a file. A monitor's has the adapter in the flags.
    func data(_ linkType: UInt32 = 1002, adapter: UInt32 = 0) -> Data {
        var data = Self.header(linkType)
        data.append(contentsOf: content(linkType, adapter: adapter))
        return data
    }

    static func header(_ linkType: UInt32, version: UInt32 = 1) -> Data {
        Data(Array("btsnoop\0".utf8) + big(version) + big(linkType))
    }

    func content(_ linkType: UInt32, adapter: UInt32 = 0) -> [UInt8] {
        records.flatMap { record -> [UInt8] in
            let packet = linkType == 1002 ? [record.kind] + record.bytes : record.bytes
            let opcode: UInt32 = record.kind == 1 ? 2 : record.kind == 4 ? 3 : record.isSent ? 4 : 5
            let flags: UInt32 =
                linkType == 2001 ? adapter << 16 | opcode : (record.isSent ? 0 : 1) | (record.kind == 2 ? 0 : 2)
            var bytes: [UInt8] = []
            for field in [
                UInt32(packet.count), UInt32(packet.count), flags, 0, UInt32(record.timestamp >> 32),
                UInt32(record.timestamp & 0xFFFF_FFFF),
            ] {
                bytes += Self.big(field)
            }
            return bytes + packet
        }
    }

    static func big(_ number: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> UInt32($0)) }
    }

    var recording: Recording { get throws { try Recording(btsnoop: data()) } }
}
