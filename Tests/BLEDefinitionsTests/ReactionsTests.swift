import BLE
import BLEDefinitions
import BLESimulation
import BLETestSupport
import Foundation
import Testing

/// What writes cause, on the radio and served by a host.
@Suite(.hangLimit) struct ReactionsTests {
    private let radio = SimulatedRadio()

    private static let command = Characteristic<[UInt8]>(BluetoothUUID(0xFF01))
    private static let level = Characteristic<[UInt8]>(BluetoothUUID(0xFF02))

    private static let lamp = """
        { "name": "Lamp", "services": [{ "uuid": "ff00", "characteristics": [
          { "uuid": "ff01", "properties": ["read", "write", "notify"], "value": "aa", "onWrite": [
            { "is": "00", "set": { "ff02": "00" } },
            { "is": "01", "set": { "ff02": "64", "ff01": "01ff" } },
            { "begins": "02", "set": { "ff02": "written" } },
            { "begins": "03", "error": 129 }
          ] },
          { "uuid": "ff02", "properties": ["read", "notify"], "value": "05" }
        ] }] }
        """

    private func serve(asHost: Bool, _ body: (Peripheral, ServedPeripheral?) async throws -> Void) async throws {
        let definition = try PeripheralDefinition(json: Self.lamp.utf8)
        func use(_ served: ServedPeripheral?) async throws {
            let central = try await Central(backend: .simulated(radio), configuration: .quiet())
            try await body(try await central.first(matching: .name("Lamp")).peripheral, served)
            await central.shutDown()
        }
        guard asHost else {
            _ = await radio.add(definition)
            return try await use(nil)
        }
        let host = try await PeripheralHost(backend: .simulated(radio), configuration: .quiet())
        try await host.withServed(definition) { try await use($0) }
        await host.shutDown()
    }

    @Test(arguments: [false, true])
    func `a write sets values that are read and sent, the first reaction that fits`(asHost: Bool) async throws {
        try await serve(asHost: asHost) { lamp, _ in
            #expect(try await lamp.read(Self.command) == [0xAA])
            #expect(try await lamp.read(Self.level) == [5])
            var levels = try await lamp.notifications(Self.level).makeAsyncIterator()
            var commands = try await lamp.notifications(Self.command).makeAsyncIterator()
            try await lamp.write([0x01], to: Self.command)
            let level = try await levels.next()
            #expect(level == [0x64])
            // What the reaction sets takes the place of the written value.
            #expect(try await lamp.read(Self.command) == [0x01, 0xFF])
            try await lamp.write([0x02, 7, 8], to: Self.command)
            let first = try await commands.next()
            let second = try await commands.next()
            #expect(first == [0x01, 0xFF] && second == [0x02, 7, 8])
            let written = try await levels.next()
            #expect(written == [0x02, 7, 8])
            #expect(try await lamp.read(Self.level) == [0x02, 7, 8])
            #expect(try await lamp.read(Self.command) == [0x02, 7, 8])
        }
    }

    @Test(arguments: [false, true])
    func `a write is rejected with its code, and nothing changes`(asHost: Bool) async throws {
        try await serve(asHost: asHost) { lamp, _ in
            let refused = await #expect(throws: BLEError.self) { try await lamp.write([0x03], to: Self.command) }
            #expect(refused?.attError == ATTError(rawValue: 0x81))
            #expect(try await lamp.read(Self.command) == [0xAA])
            // No reaction fits: the value is stored.
            try await lamp.write([0x00, 1], to: Self.command)
            #expect(try await lamp.read(Self.command) == [0x00, 1])
            #expect(try await lamp.read(Self.level) == [5])
        }
    }

    @Test func `a program sets such a value as any other`() async throws {
        try await serve(asHost: true) { lamp, served in
            let served = try #require(served)
            var levels = try await lamp.notifications(Self.level).makeAsyncIterator()
            try await served.setValue([9], of: Self.level)
            let level = try await levels.next()
            #expect(level == [9])
            #expect(try await lamp.read(Self.level) == [9])
            #expect(try await served.value(Self.level) == [9])
        }
    }

    @Test(
        arguments: [
            (#"{"is": "00", "begins": "00"}"#, "\"is\" and \"begins\" cannot be combined"),
            (#"{"error": 128, "set": {"ff02": "00"}}"#, "a rejected write sets nothing"),
            (#"{"error": 5}"#, "not a number from 128 to 159"),
            (#"{"set": {"ff03": "00"}}"#, "the definition has no such characteristic"),
            (#"{"set": {"ff02": "0"}}"#, "not bytes in hexadecimal"),
            (#"{"sets": {}}"#, "unknown key; did you mean \"set\"?"),
        ] as [(String, String)])
    func `a reaction that cannot be is refused with its place`(reaction: String, message: String) throws {
        let text = """
            {"services": [{"uuid": "ff00", "characteristics": [
              {"uuid": "ff01", "properties": ["write"], "onWrite": [\(reaction)]},
              {"uuid": "ff02", "properties": ["read"]}]}]}
            """
        let error = #expect(throws: DefinitionError.self) { try PeripheralDefinition(json: text.utf8) }
        #expect(error?.message == message)
        #expect(error?.place.hasPrefix("services[0].characteristics[0].onWrite[0]") == true)
    }

    @Test func `values that are sent by themselves are not set by writes`() throws {
        let text = """
            {"services": [{"uuid": "ff00", "characteristics": [
              {"uuid": "ff01", "properties": ["write"], "onWrite": [{"set": {"ff02": "written"}}]},
              {"uuid": "ff02", "properties": ["notify"], "values": ["00"]}]}]}
            """
        let error = #expect(throws: DefinitionError.self) { try PeripheralDefinition(json: text.utf8) }
        #expect(error?.place == "services[0].characteristics[1]")
    }

    @Test func `a value that no characteristic can have is refused`() throws {
        let text = """
            {"services": [{"uuid": "ff00", "characteristics": [
              {"uuid": "ff01", "properties": ["write"], "onWrite": [{"set": {"ff02": "\(String(repeating: "00", count: 513))"}}]},
              {"uuid": "ff02", "properties": ["read"]}]}]}
            """
        let error = #expect(throws: DefinitionError.self) { try PeripheralDefinition(json: text.utf8) }
        #expect(error?.message == "more than 512 bytes")
    }
}
