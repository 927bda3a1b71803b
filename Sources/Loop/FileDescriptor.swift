internal import CGLib

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// A file descriptor that is closed with its last reference.
package final class FileDescriptor: Sendable {
    package let rawValue: Int32

    /// Takes ownership of `rawValue`.
    package init(owning rawValue: Int32) {
        self.rawValue = rawValue
    }

    deinit {
        if rawValue >= 0 { close(rawValue) }
    }

    /// The number of descriptors that GLib needs to wait or to connect, and a reserve. GLib ends the process if it
    /// cannot open one of them.
    private static let margin = 8

    /// Whether this process can open as many more descriptors as GLib opens without handling a failure.
    package static func areAvailable() -> Bool {
        (0..<margin).map { _ in FileDescriptor(owning: ble_timer_create()) }.allSatisfy { $0.rawValue >= 0 }
    }
}
