internal import BLE

extension HCIPacket {
    static func command(_ opcode: UInt16, _ parameters: [UInt8] = []) -> HCIPacket {
        var bytes: [UInt8] = []
        bytes.append16(opcode)
        bytes.append(UInt8(truncatingIfNeeded: parameters.count))
        return HCIPacket(kind: .command, isSent: true, adapter: 0, bytes: (bytes + parameters)[...])
    }

    /// An event with at most 255 bytes of parameters.
    static func event(_ code: UInt8, _ parameters: [UInt8]) -> HCIPacket {
        let bytes = [code, UInt8(truncatingIfNeeded: parameters.count)] + parameters
        return HCIPacket(kind: .event, isSent: false, adapter: 0, bytes: bytes[...])
    }

    /// The event that a command has been received.
    static func status(of opcode: UInt16) -> HCIPacket {
        var parameters: [UInt8] = [0, 1]
        parameters.append16(opcode)
        return event(HCI.commandStatus, parameters)
    }

    /// The event that a command has succeeded.
    static func completion(of opcode: UInt16, _ returned: [UInt8] = []) -> HCIPacket {
        var parameters: [UInt8] = [1]
        parameters.append16(opcode)
        return event(HCI.commandComplete, parameters + [0] + returned)
    }

    /// The packets of a frame, with at most as many bytes as a packet of the link layer (Core Specification 5.4, volume
    /// 6, part B, section 2.4).
    static func acl(
        _ handle: UInt16, channel: UInt16, _ payload: [UInt8], isSent: Bool, maximum: Int = 251
    ) -> [HCIPacket] {
        var frame: [UInt8] = []
        frame.append16(payload.count)
        frame.append16(channel)
        frame += payload
        return stride(from: 0, to: frame.count, by: maximum).map { start in
            let part = frame[start..<min(start + maximum, frame.count)]
            let boundary: UInt16 = start > 0 ? 1 : isSent ? 0 : 2
            var bytes: [UInt8] = []
            bytes.append16(handle | boundary << 12)
            bytes.append16(part.count)
            return HCIPacket(kind: .acl, isSent: isSent, adapter: 0, bytes: (bytes + part)[...])
        }
    }
}

/// The address of a device as packets have it.
struct PacketAddress {
    /// The 6 bytes, the least significant first.
    let bytes: [UInt8]

    /// Nil for an id that is not an address.
    init?(_ id: DeviceID) {
        guard id.isAddress, let bytes = Hex.bytes(id.rawValue), bytes.count == 6 else { return nil }
        self.bytes = bytes.reversed()
    }

    /// The kind of address that its bits suggest: a static random address begins with two ones.
    var likelyType: AddressType { (bytes.last ?? 0) >> 6 == 3 ? .random : .public }
}

extension AddressType {
    var packetValue: UInt8 { self == .public ? 0 : 1 }
}
