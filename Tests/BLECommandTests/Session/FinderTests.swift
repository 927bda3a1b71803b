import BLE
import BLESimulation
import BLETestSupport
import BLETesting
import Testing

@testable import BLECommand

/// Which peripheral a text of a command line is taken for.
@Suite(.hangLimit)
struct FinderTests {
    @Test(arguments: [
        ("Kitchen Sensor", "sensor KITCHEN", true), ("Attic (old)", "old", true), ("Sensor-12", "12 sensor", true),
        ("Kitchen Sensor 12", "Sensor 1", false), ("Kitchen Sensor", "kit", false), ("Thing", "-", false),
    ])
    func `each word of the text is a whole word of the name`(_ name: String, _ text: String, _ isMatch: Bool) {
        #expect(name.hasWords(of: text) == isMatch)
    }

    /// Returns the name of what is found among some peripherals, all of which are heard.
    private func find(_ text: String, byWords: Bool, among names: String...) async throws -> String? {
        let world = try await SimulatedWorld()
        for name in names { _ = await world.radio.add(.battery(name: name)) }
        let finder = Finder(central: world.central, output: Output { _ in }, timeout: .seconds(600))
        return try await world.asTimePasses {
            let id = try await Finder.$inRange.withValue(names.count) {
                try await finder.find(text, byWords: byWords).id
            }
            return await world.central.knownPeripherals().first { $0.id == id }?.advertisement.localName
        }
    }

    @Test func `to read, a name that nothing begins with is that of the only one with its words`() async throws {
        #expect(try await find("sensor kitchen", byWords: true, among: "Kitchen Sensor", "Attic") == "Kitchen Sensor")
    }

    @Test func `words that several names have are ambiguous`() async throws {
        let error = await #expect(throws: BLEError.self) {
            try await find("sensor", byWords: true, among: "Kitchen Sensor", "Attic Sensor")
        }
        #expect(error?.code == .ambiguousPeripheral)
    }

    @Test(arguments: ["sensor kitchen", "Sensor 1"])
    func `to change a device, another name is only suggested`(_ text: String) async throws {
        let error = await #expect(throws: BLEError.self) {
            try await find(text, byWords: false, among: "Kitchen Sensor 1", "Attic")
        }
        #expect(error?.code == .peripheralNotFound)
        #expect(error.map { "\($0.message) \($0.remedy ?? "")" }?.contains("Kitchen Sensor 1") == true)
    }
}
