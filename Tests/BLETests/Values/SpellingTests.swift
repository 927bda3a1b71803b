import BLE
import Testing

@Suite struct SpellingTests {
    @Test(
        arguments: [
            ("batery-level", "battery-level"), ("Battery-Level", "battery-level"), ("hart-rate", "heart-rate"),
            ("haert-rate", "heart-rate"), ("heartrate", "heart-rate"), ("temperature", nil), ("x", nil), ("", nil),
        ] as [(String, String?)])
    func `the nearest is found, if it is near`(_ word: String, _ nearest: String?) {
        #expect(Spelling.nearest(to: word, in: ["battery-level", "heart-rate", "ß"]) == nearest)
    }

    @Test func `without candidates nothing is near`() {
        #expect(Spelling.nearest(to: "a", in: []) == nil)
    }
}
