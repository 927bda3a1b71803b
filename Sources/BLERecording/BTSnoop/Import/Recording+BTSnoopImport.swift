public import BLE

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension Recording {
    /// Reads a btsnoop capture, as `btmon -w` and Android's HCI snoop log write it, as the central would have seen it.
    ///
    /// ```swift
    /// let capture = try Data(contentsOf: URL(filePath: "btsnoop_hci.log"))
    /// let radio = try await SimulatedRadio(replaying: Recording(btsnoop: capture), clock: ManualClock())
    /// ```
    ///
    /// The recording has what was advertised, and of each link on which this machine is the central: its beginning and
    /// end, discovered services, ATT MTU, signal strength, reads, writes, subscriptions, notified values, and pairing.
    /// It does not have scans, classic Bluetooth, L2CAP channels, Enhanced ATT, or what this machine serves. The GAP
    /// and GATT services are left out, as bluetoothd leaves them out. If a system knows the services of a peripheral
    /// from before the capture, they are not in it, and each handle counts as that of a characteristic's value.
    ///
    /// A packet of these links that cannot be decoded is left out, and counted in an entry ``RecordedEntry/What/gap``.
    /// So are an advertisement that is longer than any can be, and a discovery once all discoveries have found more
    /// attributes than the file has bytes. A record that is cut off at the end of the file is left out.
    ///
    /// Throws `invalidValue`, with the number of the record, for what is not a btsnoop capture of HCI.
    ///
    /// - Parameter adapter: the number of the adapter, such as 1 for `hci1`, in a capture of several. Nil for the first
    ///   that has received LE packets.
    public init(btsnoop: Data, adapter: Int? = nil) throws(BLEError) {
        let selected: Int
        if let adapter {
            selected = adapter
        } else {
            var reader = try BTSnoopReader(btsnoop)
            selected = try Self.firstAdapter(&reader)
        }
        var reader = try BTSnoopReader(btsnoop)
        var controller = ImportedController(room: btsnoop.count)
        while let record = try reader.next() { controller.take(record, adapter: selected) }
        let (entries, began) = controller.finish()
        // A file without a clock has times from the year 0 or from 1970.
        let (elapsed, overflow) = (began ?? 0).subtractingReportingOverflow(BTSnoop.epoch)
        self.init(
            Header(stack: "btsnoop", began: overflow || elapsed <= 0 ? nil : Double(elapsed) / 1e6), entries: entries)
    }

    private static func firstAdapter(_ reader: inout BTSnoopReader) throws(BLEError) -> Int {
        var first: Int?
        while let record = try reader.next() {
            guard let packet = record.packet else { continue }
            if packet.kind == .event, packet.bytes.first == HCI.leMeta { return packet.adapter }
            first = first ?? packet.adapter
        }
        return first ?? 0
    }
}

/// One controller of a capture.
private struct ImportedController {
    private var log: EntryLog
    private var reports = AdvertisingReports()
    private var links = CentralLinks()

    init(room: Int) { log = EntryLog(room: room) }

    mutating func take(_ record: BTSnoopReader.Record, adapter: Int) {
        log.begin(record)
        guard let packet = record.packet, packet.adapter == adapter else { return }
        let isGood =
            switch packet.kind {
            case .command: links.take(command: packet.bytes, &log)
            case .event: take(event: packet.bytes)
            case .acl: links.take(acl: packet.bytes, isSent: packet.isSent, &log)
            case .adapterEnded: endLinks()
            }
        if !isGood { log.skip() }
    }

    private mutating func endLinks() -> Bool {
        links.endAll(.adapterGone, &log)
        return true
    }

    private mutating func take(event bytes: ArraySlice<UInt8>) -> Bool {
        var header = PacketReader(bytes)
        guard let code = header.uint8(), let count = header.uint8(), let parameters = header.bytes(Int(count)) else {
            return false
        }
        var reader = PacketReader(parameters)
        guard code == HCI.leMeta else { return links.take(event: code, &reader, &log) }
        switch reader.uint8() {
        case HCI.connectionComplete, HCI.enhancedConnectionComplete, HCI.enhancedConnectionComplete2:
            return links.take(connection: &reader, &log)
        case HCI.advertisingReport: return reports.take(legacy: &reader, &log)
        case HCI.extendedAdvertisingReport: return reports.take(extended: &reader, &log)
        case nil: return false
        default: return true
        }
    }

    mutating func finish() -> (entries: [RecordedEntry], began: Int64?) {
        reports.finish(&log)
        links.finish(&log)
        return (log.ordered, log.began)
    }
}
