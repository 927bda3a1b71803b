import BLE
import BLEDefinitions
import Foundation
import Testing

@Suite struct ScriptedValuesTests {
    private func first(_ count: Int, of values: ScriptedValues) -> [[UInt8]] {
        var iterator = values.makeIterator()
        return (0..<count).compactMap { _ in iterator.next() }
    }

    private func format(_ name: String) throws -> ScriptedValues.NumberFormat {
        try #require(ScriptedValues.NumberFormat.named.first { $0.0 == name }?.1)
    }

    @Test func `a ramp goes up or down by its step, and begins again`() throws {
        #expect(first(4, of: .ramp(from: 1, to: 3, step: 1, try format("uint8"))) == [[1], [2], [3], [1]])
        #expect(
            first(4, of: .ramp(from: 1, to: -2, step: 2, try format("sint16"))) == [
                [1, 0], [0xFF, 0xFF], [1, 0], [0xFF, 0xFF],
            ])
        #expect(first(2, of: .ramp(from: 5, to: 5, step: 1, try format("uint32"))) == [[5, 0, 0, 0], [5, 0, 0, 0]])
    }

    @Test func `random numbers stay in their range, and are the same for a seed`() throws {
        let one = first(100, of: .random(10...12, seed: 1, try format("uint8")))
        #expect(one == first(100, of: .random(10...12, seed: 1, try format("uint8"))))
        #expect(one != first(100, of: .random(10...12, seed: 2, try format("uint8"))))
        #expect(Set(one) == [[10], [11], [12]])
    }

    private func onlyCharacteristic(_ script: String) throws -> [UInt8] {
        let json = """
            { "services": [{ "uuid": "ff00", "characteristics": [
                { "uuid": "ff01", "properties": ["notify"], \(script) }] }] }
            """
        return try DefinitionFile(json: Data(json.utf8)).definition.services[0].characteristics[0].value
    }

    @Test func `a file says what is sent`() throws {
        #expect(try onlyCharacteristic(#""ramp": { "from": 7, "to": 9 }"#) == [7])
        #expect(try onlyCharacteristic(#""ramp": { "from": -1, "to": 9, "format": "sint16" }"#) == [0xFF, 0xFF])
        #expect(try onlyCharacteristic(#""random": { "from": 3, "to": 3, "seed": 5 }"#) == [3])
    }

    @Test(arguments: [
        (#""ramp": { "from": 0, "to": 256 }"#, "ramp.to"), (#""ramp": { "from": 0 }"#, "ramp.to"),
        (#""ramp": { "from": 0, "to": 1, "step": 0 }"#, "ramp.step"),
        (#""ramp": { "from": 0, "to": 1, "seed": 0 }"#, "ramp.seed"),
        (#""random": { "from": -1, "to": 1 }"#, "random.from"),
        (#""values": ["00"], "ramp": { "from": 0, "to": 1 }"#, "ramp"),
        (#""random": { "from": 0, "to": 1, "format": "float" }"#, "random.format"),
    ])
    func `an error contains its place`(_ script: String, _ place: String) {
        #expect {
            try onlyCharacteristic(script)
        } throws: { error in
            "\(error)".hasPrefix("services[0].characteristics[0].\(place): ")
        }
    }
}
