import BLETesting
import Dispatch
import Foundation
import Synchronization
import Testing

/// A service manager's end of the notification socket.
final class TestServiceManager: Sendable {
    /// The value of `NOTIFY_SOCKET`.
    let address: String
    /// The messages in the order in which they have arrived.
    let messages = SharedValue<[String]>([])
    private let descriptor: Int32
    private let source = Mutex<(any DispatchSourceRead)?>(nil)

    /// Listens at a path, or, with `@`, at an abstract name. Reads nothing before ``read()``.
    init(_ address: String) throws {
        self.address = address
        let isAbstract = address.hasPrefix("@")
        var place = sockaddr_un()
        place.sun_family = sa_family_t(AF_UNIX)
        let name = isAbstract ? [0] + Array(address.utf8.dropFirst()) : Array(address.utf8)
        withUnsafeMutableBytes(of: &place.sun_path) { $0.copyBytes(from: name) }
        let length = 2 + name.count + (isAbstract ? 0 : 1)
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        self.descriptor = descriptor
        let status = withUnsafePointer(to: &place) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, socklen_t(length)) }
        }
        try #require(status == 0)
    }

    deinit { close() }

    /// Reads what has arrived, and what arrives from now on.
    func read() {
        let (descriptor, messages) = (descriptor, messages)
        source.withLock { stored in
            let source = DispatchSource.makeReadSource(fileDescriptor: descriptor)
            source.setEventHandler {
                var space = [UInt8](repeating: 0, count: 4096)
                let count = recv(descriptor, &space, space.count, Int32(MSG_DONTWAIT))
                guard count > 0 else { return }
                let message = String(decoding: space[..<count], as: UTF8.self)
                messages.change { $0.append(message) }
            }
            source.setCancelHandler { Glibc.close(descriptor) }
            source.resume()
            stored = source
        }
    }

    /// Ends the socket: what is sent from now on is refused.
    func close() {
        shutdown(descriptor, Int32(SHUT_RDWR))
        if !address.hasPrefix("@") { unlink(address) }
        let source = source.withLock { source in
            defer { source = nil }
            return source
        }
        source?.cancel()
    }
}
