import BLE
import BLEDefinitions
import BLETestSupport
import BlueZTestSupport
import Testing

/// `channel`, to the lamp of the demonstration, which returns each packet.
@Suite(.startsProcesses, .hangLimit)
struct ChannelCommandTests {
    private func channel(_ arguments: String..., input: String = "") async throws -> Tool.Result {
        try await Tool(
            ["channel", "Simulated Lamp", "--backend", "simulated", "--timeout", "600"] + arguments, input: input
        ).run()
    }

    @Test func `lines of hexadecimal are packets, both ways`() async throws {
        let result = try await channel("--psm", "0x80", "--count", "2", input: "0102\nnonsense\n\nff 00\n")
        // The others are sent, and the status says that one was not.
        #expect(result.status == 64)
        #expect(result.output == "0102\nff00\n")
        #expect(result.errors.contains("not a packet in hexadecimal: nonsense"))
        #expect(result.errors.contains("opened 0x0080, packets of up to 2048 bytes"))
    }

    @Test func `bytes are cut into packets, and JSON has the peripheral`() async throws {
        let raw = try await channel("--psm", "128", "--raw", "--count", "1", input: "hello\n")
        #expect(raw.output == "hello\n")
        let json = try await channel("--psm", "128", "--json", "--count", "1", input: "0a\n")
        let object = try #require(try json.objects.first)
        #expect(object["value"] as? String == "0a")
        #expect(object["id"] is String)
    }

    @Test func `the error for a line that is not a packet has its beginning only`() async throws {
        let result = try await channel(
            "--psm", "128", "--count", "1", input: String(repeating: "x", count: 100_000) + "\n0a\n")
        #expect(result.status == 64)
        let told = try #require(result.errors.split(separator: "\n").first { $0.contains("not a packet") })
        #expect(told.count < 120)
    }

    @Test(arguments: [
        (["--pairing", "display-yes-no"], false), (["--pairing", "display-only"], false),
        (["--pairing", "display-yes-no", "--yes"], true), (["--pairing", "no-input-no-output"], true),
    ])
    func `questions of a pairing are refused, because their answers would be packets`(
        _ arguments: [String], _ isRight: Bool
    ) async throws {
        // The wrong length is reported if there is no other error.
        let result = try await Tool(
            ["channel", "--listen", "--backend", "simulated", "--length", "1"] + arguments
        ).run()
        #expect(result.status == 64)
        #expect(result.errors.contains("questions of a pairing cannot be answered") == !isRight)
        #expect(result.errors.contains("--length is a number from 23 to 65535") == isRight)
    }

    @Test func `what cannot be is refused`() async throws {
        let refused = try await channel("--psm", "0xf0")
        #expect(refused.status == 19)
        #expect(refused.errors.contains("refused the channel 0x00F0"))
        // It publishes no number.
        let unpublished = try await channel()
        #expect(unpublished.status == 16)
        #expect(unpublished.errors.contains("--psm 0x0080"))
        for arguments in [["--psm", "0"], ["--psm", "0x100"], ["--psm", "x"], ["--listen"], ["--length", "1"]] {
            let wrong = try await Tool(["channel", "Lamp", "--backend", "simulated"] + arguments).run()
            #expect(wrong.status == 64)
        }
    }
}
