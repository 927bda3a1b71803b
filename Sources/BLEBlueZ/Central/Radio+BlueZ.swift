public import BLE
package import DBus
package import Loop

extension Radio {
    /// An adapter of this machine's bluetoothd.
    ///
    /// Each has a connection of its own to the bus, and all of a central share one thread, also with proxies.
    ///
    /// - Parameters:
    ///   - adapter: the id, such as `hci1`, which is also the radio's name.
    ///   - bus: the bus that bluetoothd is on, in D-Bus's address notation; nil for the system bus.
    ///   - restart: what is restarted if the adapter hears nothing. Powering an adapter off and on, as
    ///     ``Radio/Restart/radio`` does, also ends the links of other programs.
    ///   - advertisements: where advertisements are received from. With `managementSocket`, the bus must be this
    ///     machine's: the kernel reports what this machine's adapters receive.
    public static func bluez(
        adapter: String, bus: String? = nil, restart: Restart = .scan,
        advertisements: BlueZCentral.AdvertisementSource = .bluetoothd
    ) -> Radio {
        var radio = bluez(
            adapter: adapter, address: bus.map { .address($0) } ?? .system, channelSockets: nil, advertisements.socket)
        radio.restart = restart
        return radio
    }

    package static func bluez(
        adapter: String, address: BusAddress, channelSockets: (any ChannelSockets)?,
        _ managementSocket: ManagementSocket? = nil
    ) -> Radio {
        Radio(name: adapter) { others in
            let stack = BlueZStack(
                adapter: adapter, address: address, channelSockets: channelSockets, loop: .first(of: others))
            // Another bus has another bluetoothd.
            let other = others.lazy.compactMap { $0 as? BlueZCentral }.first {
                $0.stack.address.description == address.description
            }
            return BlueZCentral(stack, managementSocket, other?.agents ?? BlueZAgents())
        }
    }
}

extension BlueZCentral: EventLoopActor {
    package nonisolated var loop: EventLoop { stack.loop }
}
