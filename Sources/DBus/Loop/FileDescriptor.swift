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

    /// The number of descriptors that GLib takes to wait or to connect, and some more. It ends the process if it cannot
    /// have one of them.
    private static let margin = 8

    /// Whether this process can have as many descriptors now as GLib takes without asking whether it can.
    static func areAvailable() -> Bool {
        (0..<margin).map { _ in FileDescriptor(owning: ble_timer_create()) }.allSatisfy { $0.rawValue >= 0 }
    }
}
