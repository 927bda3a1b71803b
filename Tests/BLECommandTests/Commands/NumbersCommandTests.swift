import BLETestSupport
import Foundation
import Testing

/// Look-ups in the catalog, without a bus.
@Suite(.startsProcesses, .hangLimit)
struct NumbersCommandTests {
    @Test(
        arguments: [
            (["2a37"], "characteristic         2a37    Heart Rate Measurement\n"),
            (["0x004C"], "company                0x004c  Apple, Inc.\n"),
            (["0000180D-0000-1000-8000-00805f9b34fb"], "service                180d    Heart Rate\n"),
            (["0x341", "--kind", "appearance"], "appearance             0x0341  Heart Rate Sensor: Heart Rate Belt\n"),
            (
                ["0xff", "--kind", "advertising-data-type"],
                "advertising-data-type  0xff    Manufacturer Specific Data\n"
            ),
            (["rate", "HEART", "--kind", "service"], "service                180d    Heart Rate\n"),
            (["heart-rate-control"], "characteristic         2a39    Heart Rate Control Point\n"),
            (
                ["2a38", "2a39", "--kind", "characteristic"],
                "characteristic         2a38    Body Sensor Location\n"
                    + "characteristic         2a39    Heart Rate Control Point\n"
            ),
        ])
    func `a number or words of a name show an entry`(_ arguments: [String], _ output: String) async throws {
        let result = try await Tool(["numbers"] + arguments).run()
        #expect(result.status == 0)
        #expect(result.errors == "")
        #expect(result.output == output)
    }

    @Test func `it takes the option of the log, as all commands do`() async throws {
        let result = try await Tool.run("-v", "numbers", "2a37")
        #expect(result.status == 0)
        #expect(result.output.hasSuffix("Heart Rate Measurement\n"))
    }

    @Test func `for programs there are stable keys`() async throws {
        let result = try await Tool.run("numbers", "heart", "rate", "--json")
        #expect(result.status == 0)
        let entries = try result.objects
        for entry in entries { #expect(Set(entry.keys) == ["kind", "number", "uuid", "name"]) }
        #expect(entries.first?["kind"] as? String == "service")
        #expect(entries.first?["number"] as? String == "180d")
        #expect(entries.first?["uuid"] as? String == "0000180d-0000-1000-8000-00805f9b34fb")
        #expect(entries.first?["name"] as? String == "Heart Rate")
        let belt = try #require(entries.first { $0["number"] as? String == "0x0341" })
        #expect(belt["kind"] as? String == "appearance")
        #expect(belt["uuid"] is NSNull)
        #expect(
            Set(entries.compactMap { $0["kind"] as? String }).isSuperset(of: [
                "service", "characteristic", "appearance",
            ]))
    }

    @Test(
        arguments: [
            ["nosuchthing"], ["heart", "nosuchthing"], ["2a37", "--kind", "company"], ["-"], ["0x"],
            ["00000001-9f34-11ee-8c90-0242ac120002"],
        ])
    func `nothing found ends with 16 and says so`(_ arguments: [String]) async throws {
        let result = try await Tool(["numbers"] + arguments).run()
        #expect(result.status == 16)
        #expect(result.output == "")
        #expect(result.errors.hasPrefix("ble: nothing has the name or number \(arguments[0])"))
    }

    @Test(arguments: [["numbers"], ["numbers", "heart", "--kind", "color"]])
    func `a command line that makes no sense ends with 64`(_ arguments: [String]) async throws {
        #expect(try await Tool(arguments).run().status == 64)
    }
}
