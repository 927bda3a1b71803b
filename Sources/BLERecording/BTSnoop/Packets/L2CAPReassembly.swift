/// Joins the fragments that a link carries in one direction (Core Specification 5.4, volume 3, part A, section 7.2).
struct L2CAPReassembly {
    /// A frame of a channel.
    struct Frame {
        var channel: UInt16
        var payload: ArraySlice<UInt8>
    }

    /// What a fragment has led to.
    enum Result {
        /// More fragments follow.
        case incomplete
        case frame(Frame)
        /// A frame is missing fragments, or has too many.
        case lost
    }

    private var bytes: [UInt8] = []
    /// Whether the fragments of a frame are being collected.
    private var isOpen = false

    /// Takes the content of an ACL packet.
    mutating func take(_ fragment: ArraySlice<UInt8>, isFirst: Bool) -> [Result] {
        var results: [Result] = []
        if isFirst {
            if isOpen { results.append(.lost) }
            bytes = Array(fragment)
            isOpen = true
        } else {
            // The first fragment came before the capture began, or was not understood.
            guard isOpen else { return [.lost] }
            bytes += fragment
        }
        var header = PacketReader(bytes[...])
        guard let count = header.uint16(), let channel = header.uint16() else { return results + [.incomplete] }
        guard header.remaining >= Int(count) else { return results + [.incomplete] }
        isOpen = false
        defer { bytes = [] }
        guard header.remaining == Int(count) else { return results + [.lost] }
        return results + [.frame(Frame(channel: channel, payload: header.rest()))]
    }
}
