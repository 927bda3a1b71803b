internal import CGLib

extension DBusError {
    /// Creates an error from a GError, and frees it.
    init(taking error: UnsafeMutablePointer<GError>?) {
        guard let error else {
            self.init(.disconnected, message: "unknown error")
            return
        }
        defer { g_error_free(error) }
        let remoteName = g_dbus_error_get_remote_error(error)
        defer { g_free(remoteName) }
        if let remoteName {
            g_dbus_error_strip_remote_error(error)
            self.init(.remote, name: String(cString: remoteName), message: String(cString: error.pointee.message))
            return
        }
        let message = String(cString: error.pointee.message)
        let kind: Kind =
            switch error.pointee.domain == ble_io_error_quark() ? UInt32(error.pointee.code) : .max {
            case G_IO_ERROR_TIMED_OUT.rawValue: .timedOut
            case G_IO_ERROR_CANCELLED.rawValue: .cancelled
            case G_IO_ERROR_TOO_MANY_OPEN_FILES.rawValue: .exhausted
            case G_IO_ERROR_INVALID_ARGUMENT.rawValue: .malformed
            default: .disconnected
            }
        self.init(kind, message: message)
    }
}
