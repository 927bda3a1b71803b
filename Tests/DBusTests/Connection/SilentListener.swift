import Foundation

/// A bus's address at which connections are accepted and never answered.
final class SilentListener: Sendable {
    let address: String
    private let listener: Int32
    private let place: @Sendable (Int32, (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32

    init() throws {
        let name = "ble-silent-\(String(UInt64.random(in: .min ... .max), radix: 16))"
        address = "unix:abstract=\(name)"
        place = { descriptor, use in
            var place = sockaddr_un()
            place.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &place.sun_path) { path in
                for (index, byte) in name.utf8.enumerated() { path[index + 1] = byte }
            }
            let length = socklen_t(MemoryLayout<sa_family_t>.size + 1 + name.utf8.count)
            return withUnsafePointer(to: &place) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { use(descriptor, $0, length) }
            }
        }
        listener = Self.makeSocket()
        guard place(listener, { bind($0, $1, $2) }) == 0, listen(listener, 64) == 0 else {
            throw POSIXError(.EADDRINUSE)
        }
    }

    deinit { close(listener) }

    private static func makeSocket() -> Int32 {
        socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    }

    /// Returns once every connection that was made is closed by its client.
    func untilAllAreClosed() async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                // The last one is this.
                let last = Self.makeSocket()
                defer { close(last) }
                _ = self.place(last) { connect($0, $1, $2) }
                var mark = [UInt8](repeating: 0xFF, count: 1)
                send(last, &mark, 1, 0)
                while true {
                    let client = accept(self.listener, nil, nil)
                    defer { close(client) }
                    var space = [UInt8](repeating: 0, count: 4096)
                    var isLast = false
                    while !isLast {
                        let count = recv(client, &space, space.count, 0)
                        guard count > 0 else { break }
                        isLast = space[0] == 0xFF
                    }
                    if isLast { break }
                }
                continuation.resume()
            }
        }
    }
}
