import BLE
import BLEFeatures
import BLETestSupport
import Foundation
import Testing

/// A kind of device that a file describes.
@Suite struct ConfigurationFileTests {
    final class Light: Feature {
        static let commands: Set<MessageCommand> = [MessageCommand(rawValue: 0x0101)]
        let handler: MessageHandler
        init(handler: MessageHandler) { self.handler = handler }
    }
    final class Name: Feature {
        static let commands: Set<MessageCommand> = [MessageCommand(rawValue: 0x0201)]
        let handler: MessageHandler
        init(handler: MessageHandler) { self.handler = handler }
    }

    private static let known: [String: any Feature.Type] = ["light": Light.self, "name": Name.self]

    private func read(_ json: String) throws -> Devices.Configuration {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try Data(json.utf8).write(to: url)
        defer { try? FileManager.default.removeItem(at: url) }
        return try Devices.Configuration(file: url.path, features: Self.known)
    }

    @Test func `a file says everything that a configuration has`() throws {
        let configuration = try read(
            """
            {
              "service": "FF00", "request": "ff01", "reply": "0000ff02-0000-1000-8000-00805f9b34fb", "company": "0a0B",
              "features": ["name"], "replyTimeout": 2.5, "connectTimeout": 20, "connectAttempts": 5, "staleness": 3,
              "longFrames": "refuse", "reassembles": true,
              "encryption": { "mode": "firmware", "salt": "s", "info": "i", "command": "0103" }
            }
            """)
        #expect(configuration.service == BluetoothUUID(0xFF00))
        #expect(configuration.request == BluetoothUUID(0xFF01))
        #expect(configuration.reply == BluetoothUUID(0xFF02))
        #expect(configuration.company == 0x0A0B)
        #expect(configuration.features.map { "\($0)" } == ["Name"])
        #expect(configuration.replyTimeout == .milliseconds(2500))
        #expect(configuration.connectTimeout == .seconds(20))
        #expect(configuration.connectAttempts == 5)
        #expect(configuration.staleness == .seconds(3))
        #expect(configuration.longFrames == .refuse)
        #expect(configuration.reassembles)
        #expect(
            configuration.encryption
                == MessageEncryption(
                    mode: .firmware, derivation: KeyDerivation(salt: "s", info: "i"),
                    command: MessageCommand(rawValue: 0x0103)))
    }

    @Test func `what a file does not say is as in code`() throws {
        let configuration = try read("{}")
        #expect(configuration.service == Devices.Configuration.defaultService)
        #expect(configuration.service.description.hasPrefix("00000000-9f34-11ee-8c90-0242ac120002"))
        #expect(configuration.request.description.hasPrefix("00000001-9f34-11ee"))
        #expect(configuration.reply.description.hasPrefix("00000002-9f34-11ee"))
        #expect(configuration.company == 0xFFFF)
        #expect(configuration.features.map { "\($0)" } == ["Light", "Name"])
        #expect(configuration.replyTimeout == .seconds(10))
        #expect(configuration.encryption == nil)
    }

    static let bad: [(String, String)] = [
        (#"{"service": "what"}"#, "service"), (#"{"service": 5}"#, "service"), (#"{"company": "1"}"#, "company"),
        (#"{"company": 65535}"#, "company"), (#"{"replyTimeout": "soon"}"#, "replyTimeout"),
        (#"{"replyTimeout": 0}"#, "replyTimeout"), (#"{"replyTimeout": -1}"#, "replyTimeout"),
        (#"{"connectAttempts": 0}"#, "connectAttempts"), (#"{"connectAttempts": 1.5}"#, "connectAttempts"),
        (#"{"longFrames": "perhaps"}"#, "longFrames"), (#"{"reassembles": "x"}"#, "reassembles"),
        (#"{"features": "light"}"#, "features"), (#"{"features": [1]}"#, "features"),
        (#"{"encryption": {"mode": "rot13"}}"#, "encryption.mode"), (#"{"encryption": {"mode": "bound"}}"#, "salt"),
        (#"{"encryption": {"salt": "s", "info": "i", "command": "0103"}}"#, "mode"),
        (#"{"encryption": "bound"}"#, "encryption"), (#"{"company": null}"#, "company"),
        (#"{"replytimeout": 5}"#, "replytimeout"), (#"{"encryption": {"pepper": "p"}}"#, "encryption.pepper"),
    ]

    @Test(arguments: bad) func `a value that is not as it should be is named`(_ json: String, _ key: String)
        async throws
    {
        let error = await expectError(.invalidArgument) { try read(json) }
        #expect(error?.message.contains(key) == true)
    }

    @Test func `an unknown feature is named, with those that there are`() async throws {
        let error = await expectError(.featureNotFound) { try read(#"{"features": ["light", "sound"]}"#) }
        #expect(error?.message.contains("sound") == true)
        #expect(error?.remedy?.contains("light, name") == true)
    }

    @Test(arguments: ["", "[]", "{", "null"]) func `what is no JSON object is an error`(_ content: String) async throws
    {
        await expectError(.invalidArgument) { try read(content) }
    }

    @Test func `a missing file is an error`() async throws {
        await expectError(.invalidArgument) {
            try Devices.Configuration(file: "/nowhere/devices.json", features: Self.known)
        }
    }

    @Test func `a configuration may come from anywhere`() throws {
        let configuration = try Devices.Configuration(
            json: #"{"company": "0059", "features": ["light"]}"#, features: Self.known)
        #expect(configuration.company == 0x0059)
    }
}

/// The messages for errors in a file.
@Suite struct ConfigurationMistakeTests {
    private func error(_ json: String) throws -> BLEError {
        let error = #expect(throws: BLEError.self) { try Devices.Configuration(json: json, features: [:]) }
        return try #require(error)
    }

    @Test(
        arguments: [
            ("{\n  \"replyTimeuot\": 5\n}", "replyTimeuot (line 2)", "Did you mean replyTimeout?"),
            ("{\"Service\": \"FF00\"}", "Service (line 1)", "Did you mean service?"),
            (
                "{\n\"encryption\": {\n\n\"mod\": \"bound\"\n}}", "encryption.mod (line 4)",
                "Did you mean encryption.mode?"
            ),
            ("{\n\n\"shade\": 1}", "shade (line 3)", "Choose from: service, request"),
            ("{\n\"staleness\": \"long\"}", "staleness in the configuration is not a number of seconds", nil),
            ("{\n\"writeType\": \"fast\"}", "withResponse or withoutResponse (line 2)", nil),
        ] as [(String, String, String?)])
    func `an error contains its line and the nearest key`(
        _ json: String, _ message: String, _ remedy: String?
    ) throws {
        let error = try error(json)
        #expect(error.code == .invalidArgument)
        #expect(error.message.contains(message), "\(error.message)")
        if let remedy { #expect(error.remedy?.contains(remedy) == true, "\(error.remedy ?? "")") }
    }

    @Test func `everything that code can set can be in the file`() throws {
        let configuration = try Devices.Configuration(
            json: #"{"writeType": "withoutResponse", "lateReplyGrace": 0.5, "bufferedPackets": 16}"#, features: [:])
        #expect(configuration.writeType == .withoutResponse)
        #expect(configuration.lateReplyGrace == .milliseconds(500))
        #expect(configuration.bufferedPackets == 16)
    }

    @Test(arguments: ["", "[", "{\"service\": }", "[1]", "{\"a\": 1,}x"])
    func `the error for invalid JSON does not contain the decoder's message`(_ json: String) throws {
        let message = try error(json).message
        #expect(
            !message.contains("Domain") && !message.contains("Context(") && !message.contains("Code="), "\(message)")
    }

    @Test func `the error for a missing file is one sentence`() throws {
        let error = #expect(throws: BLEError.self) {
            try Devices.Configuration(file: "/nowhere/device.json", features: [:])
        }
        #expect(error?.message == "/nowhere/device.json cannot be read: No such file or directory")
        let folder = #expect(throws: BLEError.self) { try Devices.Configuration(file: "/", features: [:]) }
        #expect(folder?.message.contains("Domain") == false)
    }
}
