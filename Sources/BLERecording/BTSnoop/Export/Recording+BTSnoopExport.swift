internal import BLE

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension Recording {
    /// Returns the recording as a btsnoop capture, which `btmon -r`, Wireshark and other tools read.
    ///
    /// The capture has the packets that a controller would have exchanged with this machine, with times from the header
    /// and the entries: advertising reports, connections, ATT requests and responses with the handles of values,
    /// notifications, pairing requests and disconnections. A `discover` call becomes the requests of a discovery.
    /// Packets of one link are one after the other where calls were concurrent. What the recording does not know is
    /// made up: the keys of a pairing, connection parameters, and an ATT MTU of 517 where a value needs one. A link
    /// that the recording does not begin is begun before its first use.
    ///
    /// What has no packets is left out: states of the adapter, the system's properties and settings, bonds, removed
    /// peripherals, and calls that failed on this machine. So are L2CAP channels, what a host serves, and peripherals
    /// whose ids are not addresses. ``init(btsnoop:adapter:)`` returns the rest as it was.
    public func btsnoop() -> Data {
        var export = BTSnoopExport(self)
        for position in entries.indices { export.take(position) }
        let began = header.began ?? 0
        let isKnown = (0...1e11).contains(began)
        return export.finish().file(entries, began: isKnown ? Int64((began * 1e6).rounded()) : 0).data
    }
}
