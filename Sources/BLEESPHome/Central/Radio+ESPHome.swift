public import BLE
package import Loop

extension Radio {
    /// A Bluetooth proxy of ESPHome.
    ///
    /// All radios of a central share one thread: adapters of this machine, and any number of proxies.
    ///
    /// - Parameters:
    ///   - host: the proxy's name or address.
    ///   - port: the port of its native API.
    ///   - key: the key in its configuration. Nil if it does not encrypt.
    ///   - name: the radio's name; nil for `host`.
    ///   - restart: what is restarted if the proxy hears nothing. With ``Radio/Restart/radio``, it is connected to
    ///     again, which ends nothing of other programs.
    public static func esphome(
        _ host: String, port: UInt16 = 6053, key: EncryptionKey? = nil, name: String? = nil,
        restart: Restart = .radio
    ) -> Radio {
        esphome(name: name ?? host, key: key, restart: restart) { (loop) throws(LoopError) in
            try await TCP.connect(host, port: port, on: loop)
        }
    }

    /// - Parameter connector: opens a stream to the proxy. It runs on the loop's thread.
    package static func esphome(
        name: String, key: EncryptionKey?, restart: Restart = .radio,
        connector: @escaping @Sendable (EventLoop) async throws(LoopError) -> FileDescriptor
    ) -> Radio {
        var radio = Radio(name: name) { others in
            ESPHomeCentral(name: name, key: key, loop: .first(of: others), connector: connector)
        }
        radio.restart = restart
        return radio
    }
}

extension ESPHomeCentral: EventLoopActor {}
