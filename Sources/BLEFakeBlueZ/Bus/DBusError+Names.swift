package import DBus

extension DBusError {
    /// One of bluetoothd's errors, by the last part of its name.
    package static func bluez(_ name: String, _ message: String) -> DBusError {
        .remote("org.bluez.Error.\(name)", message)
    }

    /// One of D-Bus's own errors, by the last part of its name.
    package static func bus(_ name: String, _ message: String) -> DBusError {
        .remote("org.freedesktop.DBus.Error.\(name)", message)
    }
}
