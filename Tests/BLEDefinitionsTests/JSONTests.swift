import BLE
import BLEDefinitions
import Foundation
import Testing

/// JSON that is written and read.
@Suite struct JSONTests {
    @Test func `nothing that commands a terminal is written raw`() throws {
        let text = "\u{0}\u{1B}[8m\u{7F}\u{85}\u{9B}\u{2028}\u{202E}\u{2066} \"ü\\\n漢"
        let json = JSON.object(["k\u{9B}": .string(text)]).text
        #expect(
            json
                == #"{"k\u009b":"\u0000\u001b[8m\u007f\u0085\u009b\u2028\u202e\u2066 \"ü\\\n漢"}"#)
        let object = try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: String])
        #expect(object == ["k\u{9B}": text])
        #expect(try JSONReader.read(Data(json.utf8)) == .object(["k\u{9B}": .string(text)]))
    }

    @Test func `numbers have their shortest digits, and keys are in order`() {
        let values: [JSON] = [.double(72), .double(0.1), .double(1e300), .double(.infinity), .int(-5), .null, true]
        #expect(JSON.array(values).text == "[72,0.1,1e+300,null,-5,null,true]")
        #expect(JSON.object(["b": 1, "a": "x", "B": .array([])]).text == #"{"B":[],"a":"x","b":1}"#)
    }

    @Test(
        arguments: [
            (
                " [1, -2.5, 1e3, true, false, null, \"a\\u00e9\\ud83d\\ude00\\/\"] ",
                #"[1,-2.5,1000,true,false,null,"aé😀/"]"#
            ),
            ("{}", "{}"), ("[]", "[]"), ("[[],{}]", "[[],{}]"), ("\u{FEFF}1", "1"), ("0", "0"), ("-0", "0"),
        ])
    func `what is JSON is read`(_ text: String, _ same: String) throws {
        #expect(try JSONReader.read(Data(text.utf8)).text == same)
    }

    @Test(
        arguments: [
            ("", "the text ends too early"),
            ("[1,]", "[1]: not JSON in line 1, column 4: a comma is before the end of the list"),
            (#"{"a":1,}"#, "a comma is before the end of the object"),
            ("[1 2]", "a comma or the end of the list is missing"),
            (#"{"a":{"b":1,"c":2,"b":3}}"#, "a.b: the key occurs twice"),
            (#"{"a":1,"a":1}"#, "a: the key occurs twice"), ("[1]x", "more text follows its end"),
            ("01", "not a number"), ("1.", "not a number"), ("-", "not a number"), ("+1", "a value is missing"),
            ("1e999", "the number is too large"), ("\"a", "a string is not terminated"),
            ("\"\u{1}\"", "is not escaped"),
            (#""\x""#, "an escape is unknown"), (#""\ud800""#, "half of a surrogate pair"),
            ("tru", "a value is missing"),
            (#"{a:1}"#, "a key is missing"), (#"{"a" 1}"#, "a colon is missing"), ("'a'", "a value is missing"),
            (String(repeating: "[", count: 65), "values are nested too deeply"),
            ("{\n  \"a\": [\n    1,\n  ]\n}", "a[1]: not JSON in line 4, column 3"),
        ])
    func `what is not JSON is refused, with its place`(_ text: String, _ message: String) {
        let mistake = #expect(throws: DefinitionError.self) { try JSONReader.read(Data(text.utf8)) }
        #expect(mistake?.description.contains(message) == true, "\(mistake?.description ?? "")")
    }

    @Test func `bytes that are no text are refused`() {
        #expect(throws: DefinitionError.self) { try JSONReader.read(Data([0x22, 0xC3, 0x28, 0x22])) }
        #expect(throws: DefinitionError.self) { try JSONReader.read(Data([0x22, 0xED, 0xA0, 0x80, 0x22])) }
    }

    /// An error message with the whole key would be that long, and the path would be copied for each key.
    @Test(arguments: ["\u{1B}[8m", "\\u0000", "\\u009b", "\u{202E}", "x"])
    func `a message has the beginning of a long key or name, without commands`(_ piece: String) throws {
        let long = String(repeating: piece, count: 1_000_000)
        for text in [
            "{\"services\": [], \"\(long)\": 1}", "{\"services\": [{\"uuid\": \"\(long)\"}]}",
            "{\"services\": [{\"\(long)\": {\"\(long)\": [{}]}}]}", "{\"\(long)\": 1, \"\(long)\": 2}",
        ] {
            let data = Data(text.replacing("\u{1B}", with: "\\u001b").utf8)
            let mistake = try #require(throws: DefinitionError.self) { try DefinitionFile(json: data) }
            #expect(mistake.description.utf8.count < 1000)
            #expect(mistake.description == mistake.description.harmless)
        }
    }
}
