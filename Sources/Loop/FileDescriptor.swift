#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// A file descriptor that is closed with its last reference.
package final class FileDescriptor: Sendable {
    package let rawValue: Int32

    /// Takes ownership of `rawValue`.
    package init(owning rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// Another descriptor of the same file, or one without a value if the process can have no more.
    package convenience init(duplicating rawValue: Int32) {
        self.init(owning: fcntl(rawValue, F_DUPFD_CLOEXEC, 0))
    }

    deinit {
        if rawValue >= 0 { close(rawValue) }
    }
}
