package import BLE
package import Loop

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// Opens sockets of the kernel's management interface: the kernel's, or a test's.
package struct ManagementSocket: Sendable {
    /// Opens a nonblocking socket that preserves packet boundaries.
    ///
    /// Fails with `notSupported` without Bluetooth sockets, `unauthorized` if they are forbidden, and `failed`.
    package let open: @Sendable () -> Result<FileDescriptor, BLEError>

    package init(open: @escaping @Sendable () -> Result<FileDescriptor, BLEError>) { self.open = open }

    /// Those of the kernel (its `net/bluetooth/hci_sock.c`).
    ///
    /// Every program can open one. Only with the capability `CAP_NET_ADMIN` does it receive advertisements.
    package static let kernel = ManagementSocket {
        let type = Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let number = socket(31, type, 1)  // AF_BLUETOOTH, BTPROTO_HCI
        guard number >= 0 else { return .failure(error(errno)) }
        let descriptor = FileDescriptor(owning: number)
        // A `struct sockaddr_hci`: the family, no adapter, and the channel of the management interface.
        let address: [UInt16] = [31, 0xFFFF, 3]
        let result = address.withUnsafeBytes {
            bind(number, $0.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t($0.count))
        }
        guard result == 0 else { return .failure(error(errno)) }
        // For the advertisements that arrive while the program is busy, about two thousand. Beyond that, the kernel
        // drops them. Without the capability, this fails.
        var room: Int32 = 1 << 20
        _ = setsockopt(number, SOL_SOCKET, 33, &room, socklen_t(MemoryLayout<Int32>.size))  // SO_RCVBUFFORCE
        return .success(descriptor)
    }

    /// The error for a system call that makes a socket.
    static func error(_ number: Int32) -> BLEError {
        let cause = SystemError(number: number)
        switch number {
        case SystemError.unknownFamily, SystemError.unknownProtocol, SystemError.notPermitted, SystemError.noAccess:
            return BLEError(ChannelSocketError(.making, number), nil)
        case SystemError.tooManyInProcess, SystemError.tooManyInSystem:
            return BLEError(
                .failed, "the kernel's management socket could not be opened: \(cause)", isRetryable: true,
                remedy: "Close some files, or raise the limit (ulimit -n).", cause: cause)
        default:
            return BLEError(.failed, "the kernel's management socket could not be opened: \(cause)", cause: cause)
        }
    }
}
