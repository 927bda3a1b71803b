#if Gateway
    import BLETestSupport
    import Foundation
    import MQTT

    /// A broker that does what a test says, on a thread for each connection.
    final class ScriptedBroker: Sendable {
        /// A connection from a client. All functions block.
        struct Connection: Sendable {
            let descriptor: Int32
            /// The number of earlier connections.
            let number: Int

            static let accepted: [UInt8] = [0x20, 3, 0, 0, 0]

            /// Reads a packet: its first byte, and what follows the length. Nil at the end. Pings are answered: on a busy
            /// machine, a test may take longer than a connection without answers lasts.
            func read() -> (type: UInt8, body: [UInt8])? {
                while let packet = readPacket() {
                    guard packet.type == 0xC0 else { return packet }
                    write([0xD0, 0])
                }
                return nil
            }

            private func readPacket() -> (type: UInt8, body: [UInt8])? {
                guard let type = read(1)?[0] else { return nil }
                var (length, shift) = (0, 0)
                while let byte = read(1)?[0] {
                    length |= Int(byte & 0x7F) << shift
                    shift += 7
                    if byte & 0x80 == 0 { return read(length).map { (type, $0) } }
                }
                return nil
            }

            private func read(_ count: Int) -> [UInt8]? {
                var bytes = [UInt8](repeating: 0, count: count)
                var read = 0
                while read < count {
                    let received = bytes.withUnsafeMutableBytes {
                        recv(descriptor, $0.baseAddress! + read, count - read, 0)
                    }
                    guard received > 0 else { return nil }
                    read += received
                }
                return bytes
            }

            func write(_ bytes: [UInt8]) { _ = send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) }

            /// Accepts the client.
            func accept() {
                guard read() != nil else { return }
                write(Self.accepted)
            }

            /// Reads until the client has closed the connection.
            func drain() { while read() != nil {} }
        }

        let path: String
        private let listener: Int32

        /// - Parameter script: called for each connection, which is closed when it returns.
        init(_ script: @escaping @Sendable (Connection) -> Void) throws {
            path =
                FileManager.default.temporaryDirectory
                .appending(path: "mqtt-\(String(UInt64.random(in: 0 ... .max), radix: 36))").path
            listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            var place = sockaddr_un()
            place.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &place.sun_path) { $0.copyBytes(from: path.utf8) }
            let isOpen = withUnsafePointer(to: &place) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0 && listen(listener, 64) == 0
                }
            }
            guard isOpen else { throw POSIXError(.EADDRINUSE) }
            Thread.detachNewThread { [listener] in
                var number = 0
                while case let client = accept(listener, nil, nil), client >= 0 {
                    let connection = Connection(descriptor: client, number: number)
                    number += 1
                    Thread.detachNewThread {
                        script(connection)
                        close(client)
                    }
                }
                close(listener)
            }
        }

        deinit {
            // The thread closes it: until it has noticed, the number must not become that of another socket.
            shutdown(listener, Int32(SHUT_RDWR))
            unlink(path)
        }

        var address: MQTTClient.Broker { .unix(path: path) }
    }
#endif
