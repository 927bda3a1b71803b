#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// An error of the operating system.
struct SystemError: Error, CustomStringConvertible {
    let number: Int32

    /// The system's description of the error.
    var description: String { String(cString: strerror(number)) }

    static let notPermitted = EPERM
    static let noAccess = EACCES
    static let busy = EBUSY
    static let unknownFamily = EAFNOSUPPORT
    static let unknownProtocol = EPROTONOSUPPORT
    static let tooManyInProcess = EMFILE
    static let tooManyInSystem = ENFILE
    static let inUse = EADDRINUSE
    static let refused = ECONNREFUSED
    static let reset = ECONNRESET
    static let aborted = ECONNABORTED
    static let timedOut = ETIMEDOUT
    static let hostDown = EHOSTDOWN
    static let unreachable = EHOSTUNREACH
    static let notConnected = ENOTCONN
    static let invalid = EINVAL
    static let keyRejected = EKEYREJECTED
}
