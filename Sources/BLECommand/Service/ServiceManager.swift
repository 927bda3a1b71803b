#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The service manager that has started this program, such as systemd, with the messages of sd_notify(3).
struct ServiceManager: Sendable {
    /// The longest pause between two signs of life (`WATCHDOG=1`): half of the time after which the service manager
    /// ends the program. Nil if it expects none.
    let watchdogInterval: Duration?
    /// Sends a message, without waiting. Returns false if the service manager did not take it.
    let send: @Sendable (String) -> Bool

    init(watchdogInterval: Duration? = nil, send: @escaping @Sendable (String) -> Bool) {
        (self.watchdogInterval, self.send) = (watchdogInterval, send)
    }

    /// Returns nil if no service manager is to be told.
    ///
    /// - Parameter process: the id of this process.
    init?(_ environment: [String: String], process: Int32) {
        guard let address = environment["NOTIFY_SOCKET"], let socket = NotificationSocket(address) else { return nil }
        let isForOther = environment["WATCHDOG_PID"].map { Int32($0) != process } ?? false
        let limit = isForOther ? nil : environment["WATCHDOG_USEC"].flatMap { Int64($0) }
        self.init(watchdogInterval: limit.flatMap { $0 > 0 ? .microseconds($0) / 2 : nil }) { socket.send($0) }
    }
}

/// A datagram socket to the service manager.
private final class NotificationSocket: Sendable {
    private let descriptor: Int32
    private let place: sockaddr_un
    private let length: socklen_t

    /// - Parameter address: a path, or `@` and an abstract name.
    ///
    /// Returns nil for any other address, and without a descriptor.
    init?(_ address: String) {
        let isAbstract = address.hasPrefix("@")
        let name = isAbstract ? [0] + address.utf8.dropFirst() : Array(address.utf8)
        var place = sockaddr_un()
        // A path ends with a zero.
        guard isAbstract || address.hasPrefix("/"), name.count > 1,
            name.count < MemoryLayout.size(ofValue: place.sun_path)
        else { return nil }
        place.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &place.sun_path) { $0.copyBytes(from: name) }
        self.place = place
        let start = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 0
        length = socklen_t(start + name.count + (isAbstract ? 0 : 1))
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
    }

    deinit { close(descriptor) }

    func send(_ message: String) -> Bool {
        let bytes = Array(message.utf8)
        return withUnsafePointer(to: place) { place in
            place.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(descriptor, bytes, bytes.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL), $0, length)
                    == bytes.count
            }
        }
    }
}
