import BLETesting
import Testing

@testable import BLEESPHome

@Suite struct MessageChannelTests {
    private let key = EncryptionKey.random()

    /// Exchanges everything between two channels, and returns the events of each.
    private func exchange(
        _ client: inout MessageChannel, _ server: inout MessageChannel, part: Int = .max
    ) throws -> (client: [MessageChannel.Event], server: [MessageChannel.Event]) {
        var (atClient, atServer): ([MessageChannel.Event], [MessageChannel.Event]) = ([], [])
        while true {
            let (there, back) = (client.takeOutput(), server.takeOutput())
            guard !there.isEmpty || !back.isEmpty else { return (atClient, atServer) }
            for bytes in parts(there, part) {
                server.append(bytes)
                while let event = try server.next() { atServer.append(event) }
            }
            for bytes in parts(back, part) {
                client.append(bytes)
                while let event = try client.next() { atClient.append(event) }
            }
        }
    }

    private func parts(_ bytes: [UInt8], _ size: Int) -> [ArraySlice<UInt8>] {
        guard size < bytes.count else { return [bytes[...]] }
        return stride(from: 0, to: bytes.count, by: size).map { bytes[$0..<min($0 + size, bytes.count)] }
    }

    @Test(arguments: [true, false], [1, 2, 3, 50, Int.max])
    func `messages arrive in both directions, in parts of any size`(_ isEncrypted: Bool, _ part: Int) throws {
        let key = isEncrypted ? key : nil
        var client = MessageChannel(client: key)
        var server = MessageChannel(server: key, name: "kitchen", mac: "aabbccddeeff")
        var events = try exchange(&client, &server, part: part)
        #expect(events.client == (isEncrypted ? [.opened(name: "kitchen", mac: "aabbccddeeff")] : []))
        let areOpen = client.isOpen && server.isOpen
        #expect(areOpen)
        try client.send(.ping)
        try client.send(.write(address: 1, handle: 2, withResponse: true, [UInt8](repeating: 7, count: 512)))
        try server.send(.readAnswer(address: 1, handle: 2, [1, 2, 3]))
        events = try exchange(&client, &server, part: part)
        #expect(
            events.server == [
                .received(.ping),
                .received(.write(address: 1, handle: 2, withResponse: true, [UInt8](repeating: 7, count: 512))),
            ])
        #expect(events.client == [.received(.readAnswer(address: 1, handle: 2, [1, 2, 3]))])
    }

    @Test func `the client begins with both frames, as a proxy expects`() {
        var client = MessageChannel(client: key)
        let output = client.takeOutput()
        #expect(output.prefix(7) == [1, 0, 0, 1, 0, 49, 0])
        #expect(output.count == 55)
        let isOpen = client.isOpen
        #expect(!isOpen)
        #expect(throws: WireError.outOfOrder) { try client.send(.ping) }
    }

    @Test func `a wrong key is told to the client, and ends both sides`() throws {
        var client = MessageChannel(client: .random())
        var server = MessageChannel(server: key, name: "kitchen", mac: "aabbccddeeff")
        server.append(client.takeOutput())
        #expect(throws: WireError.wrongKey) { while try server.next() != nil {} }
        let answer = server.takeOutput()
        #expect(String(decoding: answer, as: UTF8.self).hasSuffix("Handshake MAC failure"))
        client.append(answer)
        #expect(throws: WireError.wrongKey) { while try client.next() != nil {} }
        // Nothing is handled after the failure.
        server.append([1, 0, 0])
        #expect(try server.next() == nil)
        #expect(throws: WireError.outOfOrder) { try server.send(.ping) }
    }

    @Test func `a client without encryption learns that it is required`() throws {
        var client = MessageChannel(client: nil)
        var server = MessageChannel(server: key, name: "kitchen", mac: "aabbccddeeff")
        try client.send(.hello(client: "test", version: .current))
        server.append(client.takeOutput())
        #expect(throws: WireError.isNotEncrypted) { try server.next() }
        client.append(server.takeOutput())
        #expect(throws: WireError.isEncrypted) { try client.next() }
    }

    @Test func `a client with a key learns that a proxy does not encrypt`() throws {
        var client = MessageChannel(client: key)
        var server = MessageChannel(server: nil, name: "kitchen", mac: "aabbccddeeff")
        server.append(client.takeOutput())
        #expect(throws: WireError.isEncrypted) { try server.next() }
        client.append(server.takeOutput())
        #expect(throws: WireError.isNotEncrypted) { try client.next() }
    }

    @Test func `a proxy accepts short frames only until the handshake is over`() throws {
        var server = MessageChannel(server: key, name: "kitchen", mac: "aabbccddeeff")
        server.append([1, 0, 129])
        #expect(throws: WireError.frameTooLong(count: 129, maximum: 128)) { try server.next() }
        var client = MessageChannel(client: key)
        var other = MessageChannel(server: key, name: "kitchen", mac: "aabbccddeeff")
        _ = try exchange(&client, &other)
        other.append([1, 128, 1])
        #expect(throws: WireError.frameTooLong(count: 32_769, maximum: 32_768)) { try other.next() }
        #expect(throws: WireError.self) {
            try client.send(.write(address: 1, handle: 1, withResponse: true, [UInt8](repeating: 0, count: 40_000)))
        }
    }

    @Test(
        arguments: [
            ([1, 0, 1, 2], WireError.invalidHandshake), ([1, 0, 0], .invalidHandshake),
            ([1, 0, 1, 1, 1, 0, 0], .invalidHandshake),
            ([1, 0, 1, 1, 1, 0, 3, 1, 0x4E, 0x6F], .handshakeRefused("No")),
            ([1, 0, 1, 1, 1, 0, 1, 0], .invalidHandshake), ([0], .isNotEncrypted), ([7], .invalidMarker(7)),
        ] as [([UInt8], WireError)])
    func `malformed answers end the client's handshake`(_ bytes: [UInt8], _ error: WireError) {
        var client = MessageChannel(client: key)
        client.append(bytes)
        #expect(throws: error) { while try client.next() != nil {} }
    }

    @Test func `bytes of any kind are refused, or wait for others`() {
        var seed: UInt64 = 1
        func attack(_ channel: inout MessageChannel) {
            for _ in 0..<4 {
                let bytes = (0..<24).map { index in
                    seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                    let byte = UInt8(truncatingIfNeeded: seed >> 33)
                    // Many frames begin as valid ones do.
                    return index < 4 ? byte & 1 : byte
                }
                channel.append(bytes)
                while (try? channel.next()) != nil {}
                _ = channel.takeOutput()
            }
        }
        for key in [key, nil] {
            for _ in 0..<1000 {
                var server = MessageChannel(server: key, name: "kitchen", mac: "aabbccddeeff")
                attack(&server)
                var client = MessageChannel(client: key)
                attack(&client)
            }
        }
    }

    @Test func `frames that are repeated, omitted or changed are refused`() throws {
        for change in 0..<3 {
            var client = MessageChannel(client: key)
            var server = MessageChannel(server: key, name: "kitchen", mac: "aabbccddeeff")
            _ = try exchange(&client, &server)
            try client.send(.ping)
            var first = client.takeOutput()
            try client.send(.ping)
            let second = client.takeOutput()
            if change == 2 { first[first.count - 1] ^= 1 }
            server.append(change == 0 ? first + first : change == 1 ? second : first)
            #expect(throws: WireError.notAuthentic) { while try server.next() != nil {} }
        }
    }
}
