internal import CLoop
internal import Waiting

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// Connections and listeners of TCP.
package enum TCP {
    /// An address of the system, for IPv4 or IPv6.
    struct Address: Sendable {
        let family: Int32
        let bytes: [UInt8]

        /// The index of the interface that an address of IPv6 names. Nil for none.
        var scope: Int32? {
            let scope = bytes.withUnsafeBytes { bytes in
                bytes.count >= MemoryLayout<sockaddr_in6>.size
                    ? bytes.loadUnaligned(as: sockaddr_in6.self).sin6_scope_id : 0
            }
            return scope > 0 ? Int32(scope) : nil
        }

        func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
            bytes.withUnsafeBytes {
                body($0.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t($0.count))
            }
        }
    }

    /// Connects to the first address of a host that accepts. Called on the loop's thread.
    ///
    /// Throws `refused`, `exhausted` and `cancelled`. The caller sets the deadline.
    package static func connect(
        _ host: String, port: UInt16, on loop: EventLoop, isolation: isolated (any Actor)? = #isolation
    ) async throws(LoopError) -> FileDescriptor {
        var failure = LoopError.refused("the host “\(host)” has no address")
        for address in try await resolve(host, port) {
            do throws(LoopError) {
                return try await connect(address, on: loop)
            } catch {
                guard error != .cancelled else { throw error }
                failure = error
            }
        }
        throw failure
    }

    /// Resolves a name on a thread of its own, because the system's function blocks.
    private static func resolve(
        _ host: String, _ port: UInt16, isolation: isolated (any Actor)? = #isolation
    ) async throws(LoopError) -> [Address] {
        if let addresses = try? lookUp(host, port, flags: AI_NUMERICHOST) { return addresses }
        let outcome = LoopOutcome<[Address]>()
        let isStarted = SystemThread.start("resolver") {
            do throws(LoopError) {
                outcome.deliver(.success(try lookUp(host, port, flags: 0)))
            } catch {
                outcome.deliver(.failure(error))
            }
        }
        guard isStarted else { throw .refused("there is no thread to look up the host “\(host)”") }
        return try await outcome.wait()
    }

    private static func lookUp(_ host: String, _ port: UInt16, flags: Int32) throws(LoopError) -> [Address] {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = BLE_STREAM
        hints.ai_flags = flags | AI_NUMERICSERV
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, String(port), &hints, &list)
        guard status == 0 else { throw .refused("\(host): \(String(cString: gai_strerror(status)))") }
        defer { freeaddrinfo(list) }
        var addresses: [Address] = []
        var next = list
        while let info = next?.pointee {
            let bytes = UnsafeRawBufferPointer(start: info.ai_addr, count: Int(info.ai_addrlen))
            addresses.append(Address(family: info.ai_family, bytes: Array(bytes)))
            next = info.ai_next
        }
        return addresses
    }

    private static func makeSocket(_ family: Int32) throws(LoopError) -> FileDescriptor {
        let descriptor = FileDescriptor(owning: ble_stream_open(family))
        guard descriptor.rawValue >= 0 else { throw .system(errno) }
        return descriptor
    }

    private static func connect(
        _ address: Address, on loop: EventLoop, isolation: isolated (any Actor)? = #isolation
    ) async throws(LoopError) -> FileDescriptor {
        loop.checkIsolated()
        let descriptor = try makeSocket(address.family)
        disableDelay(descriptor)
        let status = address.withPointer { systemConnect(descriptor.rawValue, $0, $1) }
        if status == 0 { return descriptor }
        guard errno == EINPROGRESS else { throw .system(errno) }
        let outcome = LoopOutcome<Void>()
        let watch = DescriptorWatch(descriptor, on: loop, for: .writing) { _, _ in outcome.deliver(.success(())) }
        defer { watch.cancel() }
        try await outcome.wait()
        var (number, size): (Int32, socklen_t) = (0, 4)
        getsockopt(descriptor.rawValue, SOL_SOCKET, SO_ERROR, &number, &size)
        guard number == 0 else { throw .system(number) }
        return descriptor
    }

    /// Has small messages sent at once. Does nothing to a socket of another kind.
    private static func disableDelay(_ descriptor: FileDescriptor) {
        var isOn: Int32 = 1
        setsockopt(descriptor.rawValue, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, 4)
    }

    /// The address that a connection comes from, for limits: 4 bytes for IPv4, 16 for IPv6. Empty for a socket of
    /// another kind.
    package static func source(of descriptor: FileDescriptor) -> [UInt8] {
        var (address, size) = (sockaddr_storage(), socklen_t(MemoryLayout<sockaddr_storage>.size))
        return withUnsafeMutableBytes(of: &address) { bytes in
            let start = bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self)
            guard getpeername(descriptor.rawValue, start, &size) == 0 else { return [] }
            switch Int32(start.pointee.sa_family) {
            case AF_INET: return Array(bytes[4..<8])
            case AF_INET6:
                // An address of IPv4 may be written as one of IPv6: its last 4 bytes then.
                let isMapped = bytes[8..<18].allSatisfy { $0 == 0 } && bytes[18] == 0xFF && bytes[19] == 0xFF
                return Array(isMapped ? bytes[20..<24] : bytes[8..<24])
            default: return []
            }
        }
    }

    /// What a listener at an address is reached through, in the numbers of Avahi.
    package struct Place: Hashable, Sendable {
        /// The index of the interface. -1 for all.
        package var interface: Int32 = -1
        /// 0 for IPv4, 1 for IPv6, and -1 for both.
        package var family: Int32 = -1
    }

    /// Returns what a listener at an address is reached through. All for what is no address.
    ///
    /// - Parameter host: the address, as numbers. One of a link, such as `fe80::1%eth0`, names its interface.
    package static func place(of host: String) -> Place {
        guard let address = try? lookUp(host, 0, flags: AI_NUMERICHOST).first else { return Place() }
        let isIPv4 = address.family == AF_INET
        let (start, count) = isIPv4 ? (4, 4) : (8, 16)
        let own = address.bytes[start..<start + count]
        // All addresses of IPv6 are those of IPv4, too.
        guard own.contains(where: { $0 != 0 }) else { return Place(family: isIPv4 ? 0 : -1) }
        var place = Place(family: isIPv4 ? 0 : 1)
        if !isIPv4, let scope = address.scope {
            place.interface = scope
            return place
        }
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return place }
        defer { freeifaddrs(list) }
        var next = list
        while let facts = next?.pointee {
            next = facts.ifa_next
            guard let other = facts.ifa_addr, Int32(other.pointee.sa_family) == address.family else { continue }
            let bytes = UnsafeRawBufferPointer(start: other, count: start + count)[start...]
            guard bytes.elementsEqual(own), let name = facts.ifa_name else { continue }
            // 0 for one that is gone.
            let index = if_nametoindex(name)
            if index > 0 { place.interface = Int32(index) }
            break
        }
        return place
    }

    /// Accepts connections until the returned listener is closed. Called on the loop's thread.
    ///
    /// Throws `refused`, `inUse` and `exhausted`.
    ///
    /// - Parameters:
    ///   - host: the address to listen at, as numbers.
    ///   - port: 0 for any that is free.
    ///   - onConnection: receives each connection, on the loop's thread.
    package static func listen(
        _ host: String, port: UInt16, on loop: EventLoop, onConnection: @escaping (FileDescriptor) -> Void
    ) throws(LoopError) -> Listener {
        loop.checkIsolated()
        guard let address = try lookUp(host, port, flags: AI_NUMERICHOST | AI_PASSIVE).first else {
            throw .refused("“\(host)” is not an address")
        }
        let descriptor = try makeSocket(address.family)
        var isOn: Int32 = 1
        setsockopt(descriptor.rawValue, SOL_SOCKET, SO_REUSEADDR, &isOn, 4)
        guard address.withPointer({ bind(descriptor.rawValue, $0, $1) }) == 0 else { throw .system(errno) }
        guard systemListen(descriptor.rawValue, 16) == 0 else { throw .system(errno) }
        return Listener(descriptor, on: loop) { connection in
            disableDelay(connection)
            onConnection(connection)
        }
    }

    /// A socket that accepts connections. Safe to share: used on the loop's thread only.
    package final class Listener: @unchecked Sendable {
        private let watch: DescriptorWatch
        private var descriptor: FileDescriptor?
        /// The port that it listens at.
        package let port: UInt16

        /// The pause after which a connection is accepted again, if there is no descriptor or memory for it.
        private static let pause = Duration.milliseconds(500)

        fileprivate init(
            _ descriptor: FileDescriptor, on loop: EventLoop, onConnection: @escaping (FileDescriptor) -> Void
        ) {
            self.descriptor = descriptor
            var (address, size) = (sockaddr_storage(), socklen_t(MemoryLayout<sockaddr_storage>.size))
            port = withUnsafeMutableBytes(of: &address) { bytes in
                let start = bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self)
                getsockname(descriptor.rawValue, start, &size)
                // In IPv4 and IPv6, the port follows the family.
                return UInt16(bytes[2]) << 8 | UInt16(bytes[3])
            }
            watch = DescriptorWatch(descriptor, on: loop, for: .reading) { watch, _ in
                let number = accept(descriptor.rawValue, nil, nil)
                if number >= 0 {
                    _ = fcntl(number, F_SETFD, FD_CLOEXEC)
                    onConnection(FileDescriptor(owning: number))
                } else if [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(errno) {
                    watch.pause(for: Self.pause)
                }
            }
        }

        /// Accepts no more connections.
        package func close() {
            watch.cancel()
            // A process that is being started has a copy of the descriptor, at which others could connect until then.
            if let descriptor { _ = shutdown(descriptor.rawValue, Int32(SHUT_RDWR)) }
            descriptor = nil
        }
    }
}

private func systemConnect(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t) -> Int32 {
    connect(descriptor, address, length)
}

private func systemListen(_ descriptor: Int32, _ count: Int32) -> Int32 { listen(descriptor, count) }
