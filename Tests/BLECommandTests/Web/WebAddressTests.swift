#if Web
    import Testing

    @testable import BLECommand

    @Suite struct WebAddressTests {
        @Test(arguments: [
            ("127.0.0.1:8080", "127.0.0.1", 8080, "http://127.0.0.1:8080/"),
            ("localhost:80", "127.0.0.1", 80, "http://127.0.0.1:80/"),
            ("9000", "127.0.0.1", 9000, "http://127.0.0.1:9000/"),
            ("[::1]:8080", "::1", 8080, "http://[::1]:8080/"),
            ("0.0.0.0:8080", "0.0.0.0", 8080, "http://127.0.0.1:8080/"),
            ("[::]:8080", "::", 8080, "http://[::1]:8080/"),
            ("192.168.1.5:8080", "192.168.1.5", 8080, "http://192.168.1.5:8080/"),
        ])
        func `an address is a host and a port`(_ text: String, _ host: String, _ port: UInt16, _ url: String) throws {
            let address = try #require(WebAddress(text))
            #expect(address.host == host)
            #expect(address.port == port)
            #expect(address.url == url)
            #expect(throws: Never.self) { try address.socketAddress }
        }

        @Test(arguments: [
            "", ":", ":8080", "localhost", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:70000", "example.com:80", "::1:80",
            "[::1]", "[::1]80", "[::1:80", "1.2.3:80", "0", "+8080",
        ])
        func `anything else is none`(_ text: String) { #expect(WebAddress(text) == nil) }

        @Test func `on loopback, only a name of loopback is accepted, with any port`() throws {
            let address = try #require(WebAddress("127.0.0.1:8080"))
            for host in ["127.0.0.1:8080", "localhost:8080", "LOCALHOST", "[::1]:8080", "127.1.2.3"] {
                #expect(address.accepts(host: host), "\(host)")
            }
            for host in [
                nil, "", "example.com", "example.com:8080", "192.168.1.5:8080", "127.0.0.1.example.com", "[::1]x",
                "[::1]:x", "localhost:8080:1",
                "localhost.example.com:8080",
            ] {
                #expect(!address.accepts(host: host), "\(host ?? "none")")
            }
        }

        @Test func `elsewhere, numbers and names of this machine are accepted, and no other name`() throws {
            let address = try #require(WebAddress("0.0.0.0:8080"))
            for host in ["192.168.1.5:8080", "[fe80::1]:8080", "localhost:8080"] {
                #expect(address.accepts(host: host), "\(host)")
            }
            for host in [nil, "", "example.com:8080", "192.168.1.5.example.com"] {
                #expect(!address.accepts(host: host), "\(host ?? "none")")
            }
        }

        @Test func `a request comes from the page itself, or from no page`() {
            #expect(WebAddress.accepts(origin: nil, host: "localhost:8080"))
            #expect(WebAddress.accepts(origin: "http://localhost:8080", host: "localhost:8080"))
            #expect(WebAddress.accepts(origin: "https://Gateway.local", host: "gateway.local"))
            for origin in [
                "null", "http://localhost:8081", "http://localhost", "http://example.com",
                "http://localhost:8080.example.com",
            ] {
                #expect(!WebAddress.accepts(origin: origin, host: "localhost:8080"), "\(origin)")
            }
        }
    }
#endif
