#if Web
    import BLE
    import FlyingSocks

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    /// The address of a page: where it is served, and which names a browser may call it by.
    struct WebAddress: Equatable, Sendable {
        /// A number, such as `127.0.0.1` or `::1`.
        let host: String
        let port: UInt16

        static let standard = WebAddress("127.0.0.1:8080")!

        /// Reads `HOST:PORT`, `[HOST]:PORT` for a host with colons, or the port of this machine alone. The host is a
        /// number, or `localhost`.
        init?(_ text: String) {
            guard let (host, port) = Self.parts(of: text),
                (port ?? host).utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains),
                let port = UInt16(port ?? host), port > 0
            else { return nil }
            self.port = port
            let name = port == UInt16(host) || host == "localhost" ? "127.0.0.1" : host
            guard Self.isNumber(name) else { return nil }
            self.host = name
        }

        /// Returns the host and the port of `HOST:PORT`, or the host alone, without brackets. Nil for anything else.
        private static func parts(of text: String) -> (host: String, port: String?)? {
            let isBracketed = text.hasPrefix("[")
            let pattern = isBracketed ? #/\[([0-9A-Fa-f:.]+)\](?::([0-9]+))?/# : #/([^:]*)(?::([0-9]+))?/#
            guard let match = text.wholeMatch(of: pattern) else { return nil }
            return (String(match.1), match.2.map { String($0) })
        }

        /// Whether a host is an address of the Internet Protocol, so that no name server is asked for it.
        private static func isNumber(_ host: String) -> Bool { isIP4(host) || isIP6(host) }

        private static func isIP4(_ host: String) -> Bool {
            var address = in_addr()
            return inet_pton(AF_INET, host, &address) == 1
        }

        private static func isIP6(_ host: String) -> Bool {
            var address = in6_addr()
            return inet_pton(AF_INET6, host, &address) == 1
        }

        private static func isLoopback(_ host: String) -> Bool {
            host == "localhost" || host == "::1" || (isIP4(host) && host.hasPrefix("127."))
        }

        /// Whether only programs of this machine reach it.
        var isLoopback: Bool { Self.isLoopback(host) }

        /// The address for a browser on this machine.
        var url: String {
            let name = host == "0.0.0.0" ? "127.0.0.1" : host == "::" ? "::1" : host
            return "http://\(name.contains(":") ? "[\(name)]" : name):\(port)/"
        }

        /// The address for the server.
        var socketAddress: any SocketAddress {
            get throws {
                host.contains(":")
                    ? try sockaddr_in6.inet6(ip6: host, port: port) : try sockaddr_in.inet(ip4: host, port: port)
            }
        }

        /// Whether a request is meant for this server: its `Host` is a number or this machine's name.
        ///
        /// A foreign page whose name leads to this machine, for once, has that name there. It would read along
        /// otherwise.
        func accepts(host header: String?) -> Bool {
            guard let (name, _) = header.flatMap({ Self.parts(of: $0.lowercased()) }) else { return false }
            if isLoopback { return Self.isLoopback(name) }
            return Self.isNumber(name) || name == "localhost" || Self.ownNames.contains(name)
        }

        /// Whether a request comes from this server's page, or from no page.
        static func accepts(origin: String?, host: String?) -> Bool {
            guard let origin = origin?.lowercased() else { return true }
            guard let host = host?.lowercased() else { return false }
            return origin == "http://\(host)" || origin == "https://\(host)"
        }

        private static let ownNames: Set<String> = {
            var name = [CChar](repeating: 0, count: 256)
            guard gethostname(&name, name.count - 1) == 0 else { return [] }
            let text = String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
                .lowercased()
            return text.isEmpty ? [] : [text, text + ".local"]
        }()
    }
#endif
