import BLEDefinitions
import Testing

@testable import BLECommand

@Suite struct ValueLineTests {
    @Test(
        arguments: [
            ("batery-level 64", "Did you mean battery-level?"),
            (#"{"uuid": "batery-level", "value": "64"}"#, "is \"battery-level\" meant?"),
            (#"{"uuid": "2a19", "service": "heart-rat", "value": "64"}"#, "is \"heart-rate\" meant?"),
            ("2a19#0 64", "from 1"), ("2a19 6", "not a characteristic and a value"),
            ("2a19/2901 64", "not a characteristic and a value"),
        ])
    func `what is wrong with a line is told, with the name that may be meant`(_ line: String, _ message: String) {
        let error = #expect(throws: DefinitionError.self) { try ValueLine(line) }
        #expect(error?.message.contains(message) == true)
    }
}
