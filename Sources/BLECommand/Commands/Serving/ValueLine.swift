import BLE
import FoundationEssentials

/// A line of standard input that sets a value: a characteristic and bytes in hexadecimal, or the same as JSON.
struct ValueLine {
    let characteristic: Characteristic<[UInt8]>
    let value: [UInt8]

    /// Throws ``Entry/Mistake``.
    init(_ line: String) throws {
        guard line.contains("{") else {
            let words = line.split(separator: " ")
            guard words.count == 2, let key = try? CharacteristicArgument(named: String(words[0])),
                let bytes = Hex.bytes(String(words[1]))
            else {
                throw Entry.Mistake(place: "", message: "not a characteristic and a value in hexadecimal")
            }
            (characteristic, value) = (Characteristic(key.uuid), bytes)
            return
        }
        let object = try Entry(text: Data(line.utf8)).object(["uuid", "service", "value", "text"])
        characteristic = Characteristic(
            try object["uuid"].required("uuid").characteristic(), service: try object["service"]?.service())
        if let text = object["text"] {
            guard object["value"] == nil else {
                throw Entry.Mistake(place: "text", message: "\"value\" and \"text\" exclude each other")
            }
            value = Array(try text.string().utf8)
        } else {
            value = try object["value"].required("value").bytes()
        }
    }
}
