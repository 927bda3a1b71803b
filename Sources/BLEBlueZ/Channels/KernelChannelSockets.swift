internal import BLE
internal import Loop
internal import Waiting

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// L2CAP sockets of the Linux kernel (its `include/net/bluetooth/l2cap.h` and `net/bluetooth/l2cap_sock.c`).
struct KernelChannelSockets: ChannelSockets {
    private static let family: Int32 = 31  // AF_BLUETOOTH
    private static let l2cap: Int32 = 0  // BTPROTO_L2CAP
    private static let level: Int32 = 274  // SOL_BLUETOOTH

    /// Options of `SOL_BLUETOOTH` (the kernel's `include/net/bluetooth/bluetooth.h`).
    private enum Option: Int32 {
        case security = 4
        case sendLength = 12
        case receiveLength = 13
        case mode = 15
    }

    /// Flow control by LE credits, as a value of `Option.mode`.
    private static let leFlowControl: UInt8 = 3

    // MARK: Making sockets

    private func make() throws(ChannelSocketError) -> FileDescriptor {
        let type = Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let socket = socket(Self.family, type, Self.l2cap)
        guard socket >= 0 else { throw ChannelSocketError(.making, errno) }
        return FileDescriptor(owning: socket)
    }

    /// Binds a socket to an LE address, which makes it an LE socket, and sets its options.
    private func bind(
        _ socket: FileDescriptor, _ own: ChannelAddress, _ psm: PSM?, _ options: ChannelOptions
    ) throws(ChannelSocketError) {
        guard Self.withAddress(own, psm, { systemBind(socket.rawValue, $0, $1) }) == 0 else {
            throw ChannelSocketError(.binding, errno)
        }
        // The default for LE. Kernels without enhanced credits do not know the option.
        _ = set(.mode, Self.leFlowControl, of: socket)
        let level: UInt8 =
            switch options.security {
            case .open: 1
            case .encrypted: 2
            case .authenticated: 3
            }
        // A `struct bt_security`: the level, and the key size, where 0 means any.
        guard set(.security, (level, UInt8(0)), of: socket),
            set(.receiveLength, UInt16(clamping: options.maximumReceiveLength), of: socket)
        else { throw ChannelSocketError(.making, errno) }
        // After this time, 40 s by default, the kernel gives up and reports that the channel was refused.
        var limit = timeval()
        limit.tv_sec = 600
        _ = setsockopt(socket.rawValue, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        // A packet is cut into small parts, all of which the buffer has to hold.
        var room: Int32 = 1 << 20
        _ = setsockopt(socket.rawValue, SOL_SOCKET, SO_SNDBUF, &room, socklen_t(MemoryLayout<Int32>.size))
    }

    private func set<Value>(_ option: Option, _ value: Value, of socket: FileDescriptor) -> Bool {
        withUnsafeBytes(of: value) {
            setsockopt(socket.rawValue, Self.level, option.rawValue, $0.baseAddress, socklen_t($0.count)) == 0
        }
    }

    private func get(_ option: Option, of socket: FileDescriptor) throws(ChannelSocketError) -> Int {
        var value: UInt16 = 0
        var size = socklen_t(MemoryLayout<UInt16>.size)
        guard getsockopt(socket.rawValue, Self.level, option.rawValue, &value, &size) == 0 else {
            throw ChannelSocketError(.making, errno)
        }
        return Int(value)
    }

    // MARK: Addresses

    /// The length of a `struct sockaddr_l2`: family, PSM, address, channel id, type of address, and padding.
    private static let addressLength = 14

    private static func withAddress<Result>(
        _ address: ChannelAddress, _ psm: PSM?, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(addressLength)
        withUnsafeBytes(of: UInt16(family)) { bytes += $0 }
        let number = psm?.rawValue ?? 0
        bytes += [UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 8)]
        bytes += address.address.split(separator: ":").reversed().map { UInt8($0, radix: 16) ?? 0 }
        bytes += [0, 0, address.isRandom ? 2 : 1, 0]
        return bytes.withUnsafeBytes {
            body($0.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t($0.count))
        }
    }

    private static func read(
        _ body: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) -> (result: Int32, number: Int32, psm: PSM, address: String) {
        var bytes = [UInt8](repeating: 0, count: addressLength)
        var length = socklen_t(addressLength)
        let result = bytes.withUnsafeMutableBytes {
            body($0.baseAddress!.assumingMemoryBound(to: sockaddr.self), &length)
        }
        let number = errno
        let address = bytes[4..<10].reversed().map { Hex.string([$0]).uppercased() }.joined(separator: ":")
        return (result, number, PSM(rawValue: UInt16(bytes[2]) | UInt16(bytes[3]) << 8), address)
    }

    // MARK: Connecting

    func connect(
        from own: ChannelAddress, to peer: ChannelAddress, _ psm: PSM, _ options: ChannelOptions,
        on loop: EventLoop, isolation: isolated (any Actor)?
    ) async throws(BLEError) -> ChannelSocket {
        let socket: FileDescriptor
        do throws(ChannelSocketError) {
            socket = try make()
            try bind(socket, own, nil, options)
            let isConnected = Self.withAddress(peer, psm) { systemConnect(socket.rawValue, $0, $1) } == 0
            guard isConnected || errno == EINPROGRESS else { throw ChannelSocketError(.connecting, errno) }
        } catch {
            throw BLEError(error, psm)
        }
        let outcome = Outcome<ChannelSocket>()
        let watch = DescriptorWatch(socket, on: loop, for: .writing) { watch, _ in
            // The channel watches the socket from now on.
            watch.cancel()
            do throws(ChannelSocketError) {
                try checkConnection(of: socket)
                outcome.deliver(.success(try channel(socket)))
            } catch {
                outcome.deliver(.failure(BLEError(error, psm)))
            }
        }
        defer { loop.perform { watch.cancel() } }
        return try await outcome.wait(isolation: isolation)
    }

    /// Throws the error of a socket's connection attempt, if it failed.
    private func checkConnection(of socket: FileDescriptor) throws(ChannelSocketError) {
        var number: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(socket.rawValue, SOL_SOCKET, SO_ERROR, &number, &size) == 0 else {
            throw ChannelSocketError(.connecting, errno)
        }
        guard number == 0 else { throw ChannelSocketError(.connecting, number) }
    }

    private func channel(_ socket: FileDescriptor) throws(ChannelSocketError) -> ChannelSocket {
        ChannelSocket(
            socket, sendLength: try get(.sendLength, of: socket), receiveLength: try get(.receiveLength, of: socket))
    }

    // MARK: Listening

    func listen(
        at own: ChannelAddress, _ psm: PSM?, _ options: ChannelOptions, on loop: EventLoop,
        accept: @escaping @Sendable (ChannelSocket, String, PSM) -> Void,
        onFailure: @escaping @Sendable (BLEError, PSM) -> Void, isolation: isolated (any Actor)?
    ) async throws(BLEError) -> ListeningChannel {
        do throws(ChannelSocketError) {
            let socket = try make()
            try bind(socket, own, psm, options)
            guard systemListen(socket.rawValue, Self.backlog) == 0 else { throw ChannelSocketError(.binding, errno) }
            let bound = Self.read { getsockname(socket.rawValue, $0, $1) }
            guard bound.result == 0 else { throw ChannelSocketError(.binding, bound.number) }
            let watch = DescriptorWatch(socket, on: loop, for: .reading) { watch, _ in
                do throws(ChannelSocketError) {
                    while let (channel, central) = try nextChannel(of: socket) { accept(channel, central, bound.psm) }
                } catch {
                    // Without the pause, the socket would be reported as ready again and again.
                    guard !Self.shortages.contains(error.number) else { return watch.pause(for: .seconds(1)) }
                    watch.cancel()
                    onFailure(BLEError(error, psm), bound.psm)
                }
            }
            return ListeningChannel(psm: bound.psm) { watch.cancel() }
        } catch {
            throw BLEError(error, psm)
        }
    }

    /// The errors for temporary shortages of the process or the system, such as of descriptors.
    private static let shortages = [EMFILE, ENFILE, ENOMEM, ENOBUFS]

    /// The maximum number of channels that wait to be accepted.
    private static let backlog: Int32 = 16

    /// Returns a waiting channel and the address of its central, or nil if none waits.
    private func nextChannel(of listening: FileDescriptor) throws(ChannelSocketError) -> (ChannelSocket, String)? {
        while true {
            let accepted = Self.read { systemAccept(listening.rawValue, $0, $1) }
            guard accepted.result < 0 else {
                _ = fcntl(accepted.result, F_SETFD, FD_CLOEXEC)
                let socket = FileDescriptor(owning: accepted.result)
                // A channel that has already ended does not end the listening.
                guard let channel = try? channel(socket) else { continue }
                return (channel, accepted.address)
            }
            switch accepted.number {
            case EINTR, ECONNABORTED: continue
            case EAGAIN, EWOULDBLOCK: return nil
            default: throw ChannelSocketError(.making, accepted.number)
            }
        }
    }
}

// The system's functions, which the methods of the same names hide.
private func systemBind(_ socket: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t) -> Int32 {
    bind(socket, address, length)
}
private func systemConnect(_ socket: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t) -> Int32 {
    connect(socket, address, length)
}
private func systemAccept(
    _ socket: Int32, _ address: UnsafeMutablePointer<sockaddr>, _ length: UnsafeMutablePointer<socklen_t>
) -> Int32 { accept(socket, address, length) }
private func systemListen(_ socket: Int32, _ backlog: Int32) -> Int32 { listen(socket, backlog) }
