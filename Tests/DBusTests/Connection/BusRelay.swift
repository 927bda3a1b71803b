import BLEFakeBlueZ
import BlueZTestSupport
import Foundation
import Synchronization

/// A bus's address at which a connection is cut once the client has said so much, and at which what it says can be held up.
/// What is said before is passed on.
final class BusRelay: Sendable {
    let address: String
    /// Two ends of a stream: what is written tells the relay whether to read from clients, and its end to end.
    private let wake: (read: Int32, write: Int32)

    /// Stands before `bus` until ``stop()``.
    ///
    /// - Parameter count: how many times something is read from the client, and passed on.
    init(to bus: PrivateBus, after count: Int = .max) throws {
        let name = "ble-relay-\(String(UInt64.random(in: .min ... .max), radix: 16))"
        address = "unix:abstract=\(name)"
        var ends: [Int32] = [0, 0]
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw POSIXError(.EMFILE) }
        wake = (ends[0], ends[1])
        let listener = Self.socket(name) { bind($0, $1, $2) }
        guard listener >= 0, listen(listener, 8) == 0 else { throw POSIXError(.EADDRINUSE) }
        let upstream = String(bus.address.dropFirst("unix:abstract=".count))
        Thread.detachNewThread { [wake] in
            Self.relay(listener, upstream, after: count, until: wake.read)
            close(listener)
            close(wake.read)
        }
    }

    func stop() { close(wake.write) }

    /// Reads nothing from clients, or goes on to.
    func setHeld(_ isHeld: Bool) {
        var word: UInt8 = isHeld ? 1 : 0
        _ = send(wake.write, &word, 1, 0)
    }

    /// Passes on between pairs of sockets, each the other's peer.
    private static func relay(_ listener: Int32, _ upstream: String, after count: Int, until end: Int32) {
        var peers: [Int32: Int32] = [:]
        var clients: Set<Int32> = []
        var rest = count
        var isHeld = false
        defer { for descriptor in peers.keys { close(descriptor) } }
        while true {
            let read = peers.keys.filter { !isHeld || !clients.contains($0) }
            var polled = ([end, listener] + read).map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            guard poll(&polled, nfds_t(polled.count), -1) > 0 else { continue }
            for state in polled where state.revents != 0 {
                if state.fd == end {
                    var word: UInt8 = 0
                    guard recv(end, &word, 1, 0) > 0 else { return }
                    isHeld = word == 1
                } else if state.fd == listener {
                    let (client, bus) = (accept(listener, nil, nil), socket(upstream) { connect($0, $1, $2) })
                    guard client >= 0, bus >= 0 else { return }
                    (peers[client], peers[bus]) = (bus, client)
                    clients.insert(client)
                } else if let peer = peers[state.fd] {
                    var space = [UInt8](repeating: 0, count: 65536)
                    let count = recv(state.fd, &space, space.count, Int32(MSG_DONTWAIT))
                    if clients.contains(state.fd) { rest -= 1 }
                    if rest >= 0, count > 0, send(peer, space, count, Int32(MSG_NOSIGNAL)) == count { continue }
                    for descriptor in [state.fd, peer] {
                        peers[descriptor] = nil
                        close(descriptor)
                    }
                }
            }
        }
    }

    /// A socket that `use` has bound or connected to an abstract name; -1 where it could not.
    private static func socket(_ name: String, _ use: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        let descriptor = Foundation.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var place = sockaddr_un()
        place.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &place.sun_path) { path in
            for (index, byte) in name.utf8.enumerated() { path[index + 1] = byte }
        }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + 1 + name.utf8.count)
        return withUnsafePointer(to: &place) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { use(descriptor, $0, length) == 0 ? descriptor : -1 }
        }
    }
}
