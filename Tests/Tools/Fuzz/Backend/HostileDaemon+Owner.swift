extension HostileDaemon {
    /// The bus's signal that the service's name has another owner.
    static func ownerChanged(_ before: String, _ after: String, sender: String) -> WireMessage {
        WireMessage(
            kind: .signal, path: "/org/freedesktop/DBus", interface: "org.freedesktop.DBus", member: "NameOwnerChanged",
            sender: sender, body: [.string("org.bluez"), .string(before), .string(after)])
    }
}
