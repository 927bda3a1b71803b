public import BLE
package import DBus

extension Radio {
    /// An adapter of this machine's bluetoothd.
    ///
    /// Each has a connection of its own to the bus, and all of a central share one thread.
    ///
    /// - Parameters:
    ///   - adapter: the id, such as `hci1`, which is also the radio's name.
    ///   - bus: the bus that bluetoothd is on, in D-Bus's address notation; nil for the system bus.
    public static func bluez(adapter: String, bus: String? = nil) -> Radio {
        bluez(adapter: adapter, address: bus.map { .address($0) } ?? .system, channelSockets: nil)
    }

    package static func bluez(
        adapter: String, address: BusAddress, channelSockets: (any ChannelSockets)?
    ) -> Radio {
        Radio(name: adapter) { others in
            let loop = others.lazy.compactMap { ($0 as? BlueZCentral)?.stack.loop }.first
            return BlueZCentral(
                BlueZStack(adapter: adapter, address: address, channelSockets: channelSockets, loop: loop))
        }
    }
}
