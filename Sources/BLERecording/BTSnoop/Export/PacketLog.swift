internal import BLE

/// The packets of an export. A packet may be added after those that follow it.
struct PacketLog {
    private var packets: [(order: Int, packet: HCIPacket)] = []

    /// Adds packets at the time of the entry at `position`.
    mutating func add(_ packets: [HCIPacket], at position: Int) {
        for packet in packets { self.packets.append((position, packet)) }
    }

    /// Writes the file.
    ///
    /// - Parameter began: the time of the beginning, in microseconds since 1970.
    func file(_ entries: [RecordedEntry], began: Int64) -> BTSnoopWriter {
        var writer = BTSnoopWriter()
        let start = BTSnoop.epoch + began
        // What comes first is the beginning: a reader takes the time of the first packet for it.
        for packet in [HCIPacket.command(HCI.reset), .completion(of: HCI.reset)] {
            writer.append(packet, timestamp: start)
        }
        var elapsed: Int64 = 0
        var position = 0
        let sorted = packets.enumerated().sorted { ($0.element.order, $0.offset) < ($1.element.order, $1.offset) }
        for (_, element) in sorted {
            // Time does not go back.
            while position <= element.order, position < entries.count {
                elapsed = max(elapsed, entries[position].time.microseconds)
                position += 1
            }
            writer.append(element.packet, timestamp: start + elapsed)
        }
        return writer
    }
}
