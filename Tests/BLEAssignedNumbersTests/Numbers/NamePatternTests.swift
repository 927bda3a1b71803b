import Testing

@testable import BLEAssignedNumbers

@Suite struct NamePatternTests {
    @Test(
        arguments: [
            ("Heart Rate", "heart-rate", true), ("Heart Rate", "heartrate", true), ("Heart Rate", "heart", false),
            ("Heart Rate", "heart rate measurement", false), ("2D Item", "2d item", true), ("Häfele", "HÄFELE", true),
            ("Häfele", "hafele", false), ("Häfele", "häfele & co", false), ("", "", false), ("-", "-", false),
        ])
    func `letters and digits make the name`(_ name: String, _ text: String, _ isName: Bool) {
        #expect(NamePattern(text).isName(name) == isName)
    }

    @Test(
        arguments: [
            ("Heart Rate", "heart", true), ("Heart Rate", "rate", true), ("Heart Rate", "r", true),
            ("Heart Rate", "heart-rate", true), ("Heart Rate", "heartr", true), ("Heart Rate", "ate", false),
            ("Heart Rate", "heart rates", false), ("Nordic (Semi)", "semi", true), ("Häfele", "ÄFE", false),
            ("Größe", "GRÖ", true), ("aab ab", "ab", true), ("Heart Rate", "", false), ("", "a", false),
        ])
    func `a part begins where a word does`(_ name: String, _ text: String, _ isPart: Bool) {
        #expect(NamePattern(text).isPart(of: name) == isPart)
    }
}
