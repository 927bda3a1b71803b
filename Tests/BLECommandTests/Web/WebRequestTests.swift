import BLEDefinitions

#if Web
    import BLE
    import Testing

    @testable import BLECommand

    @Suite struct WebRequestTests {
        private static let id = "C4:7C:8D:00:00:01"

        private static func request(_ arguments: [String], _ given: String? = nil, token: String? = "secret")
            throws(BLEError) -> WebRequest
        {
            var keys: [String: JSON] = ["arguments": .array(arguments.map(JSON.string))]
            keys["token"] = given.map(JSON.string)
            return try WebRequest(Array(JSON.object(keys).text.utf8), token: token)
        }

        @Test(arguments: [
            (["adapters"], ["adapters", "--json", "--timeout", "20.0", "--"]),
            (
                ["scan", "--duplicates"],
                ["scan", "--json", "--timeout", "20.0", "--duration", "0", "--duplicates", "--"]
            ),
            (["inspect", "--values", id], ["inspect", "--json", "--timeout", "20.0", "--values", "--", id]),
            (["read", id, "2a19"], ["read", "--json", "--timeout", "20.0", "--", id, "2a19"]),
        ])
        func `a page reads without a token`(_ arguments: [String], _ expected: [String]) throws {
            #expect(try Self.request(arguments).arguments(timeout: 20) == expected)
            #expect(try Self.request(arguments, token: nil).arguments(timeout: 20) == expected)
        }

        @Test(arguments: [
            ["notify", id, "2a37"], ["write", id, "2a06", "01"], ["write", "--without-response", id, "2a06", "01"],
            ["pair", id], ["unpair", id],
        ])
        func `a page changes something with the token only`(_ arguments: [String]) throws {
            #expect(try Self.request(arguments, "secret").arguments(timeout: 1).last == arguments.last)
            for given in [nil, "", "Secret", "secret "] {
                let error = #expect(throws: BLEError.self) { try Self.request(arguments, given) }
                #expect(error?.code == .notPermitted)
            }
            // Not even with an empty one, where nothing may be changed.
            let error = #expect(throws: BLEError.self) { try Self.request(arguments, "", token: nil) }
            #expect(error?.remedy == "Start it with --allow-write.")
        }

        @Test(arguments: [
            [], [""], ["serve", "lock"], ["record"], ["convert", "/etc/passwd", "/tmp/x"], ["gateway"], ["fake"],
            ["scan", "--record", "/tmp/x"], ["scan", "--record=/tmp/x"], ["scan", "--bus", "unix:path=/tmp/x"],
            ["scan", "-v"], ["scan", "x"], ["read", id], ["read", id, "2a19", "x"], ["read", "--json", id, "2a19"],
            ["read", "Lamp", "2a19"], ["read", "", "2a19"], ["inspect", id, "--values"], ["connect", "--maintain", id],
            ["write", "--record", id, "2a06", "01"], ["write", id, "2a06", "-"],
            ["write", "--file", id, "2a06", "/etc/passwd"], ["write", id, "2a06", "--file", "/etc/passwd"],
            ["adapters", "--power", "off"],
        ])
        func `a page runs nothing else, and gives no other option`(_ arguments: [String]) {
            let error = #expect(throws: BLEError.self) { try Self.request(arguments, "secret") }
            #expect(error?.code == .invalidArgument)
        }

        @Test(arguments: [
            "", "{", "[]", "null", #"{"arguments": "scan"}"#, #"{"arguments": ["scan", 1]}"#, #"{"token": "secret"}"#,
        ])
        func `what is no request is refused`(_ text: String) {
            let error = #expect(throws: BLEError.self) { try WebRequest(Array(text.utf8), token: nil) }
            #expect(error?.code == .invalidArgument)
        }

        @Test func `a long request is refused`() {
            let text = #"{"arguments": ["scan"], "x": ""# + String(repeating: "x", count: WebRequest.limit) + #""}"#
            #expect(throws: BLEError.self) { try WebRequest(Array(text.utf8), token: nil) }
        }

        @Test func `only what needs a link holds one`() throws {
            #expect(try Self.request(["scan"]).peripheral == nil)
            #expect(try Self.request(["read", Self.id, "2a19"]).peripheral?.rawValue == Self.id)
            #expect(try Self.request(["unpair", Self.id], "secret").peripheral == nil)
        }

        @Test func `an argument that looks like an option stays an argument`() throws {
            #expect(
                try Self.request(["read", Self.id, "--record=/tmp/x"]).arguments(timeout: 1).suffix(3) == [
                    "--", Self.id, "--record=/tmp/x",
                ])
        }
    }
#endif
