import ArgumentParser
import BLE

/// A value as an argument.
enum ValueArgument: Equatable {
    case bytes([UInt8])
    /// Text for the characteristic's format.
    case text(String)
    case standardInput

    /// Hexadecimal digits are bytes. Text that could be both bytes and something else is an error.
    init(argument: String) throws {
        guard argument != "-" else {
            self = .standardInput
            return
        }
        // A sign is not a separator of bytes.
        guard let first = argument.first, !"+-".contains(first) else {
            self = argument.isEmpty ? .bytes([]) : .text(argument)
            return
        }
        guard !Self.isDateWithSpace(argument) else {
            let date = argument.replacing(" ", with: "T", maxReplacements: 1)
            let digits = argument.filter(\.isHexDigit)
            throw ValidationError("\"\(argument)\" is either a date or bytes: write \(date) or \(digits).")
        }
        if let bytes = Hex.bytes(argument) {
            self = .bytes(bytes)
            return
        }
        let digits = argument.lowercased().hasPrefix("0x") ? argument.dropFirst(2) : argument[...]
        guard !digits.allSatisfy({ $0.isHexDigit || " :-".contains($0) }) else { throw Self.notBytes(argument) }
        self = .text(argument)
    }

    /// Whether the text is a date and a time, with the separators that bytes may also have.
    private static func isDateWithSpace(_ text: String) -> Bool {
        let halves = text.split(separator: " ")
        guard halves.count == 2, text.allSatisfy({ $0.isHexDigit || " :-".contains($0) }) else { return false }
        return halves[0].split(separator: "-").map(\.count) == [4, 2, 2]
            && [[2, 2], [2, 2, 2]].contains(halves[1].split(separator: ":").map(\.count))
    }

    /// Returns the error for text that is not bytes, where bytes are expected.
    static func notBytes(_ text: String) -> ValidationError {
        ValidationError(
            "\"\(text.excerpt)\" is not two hexadecimal digits for each byte, such as 05 or 0a1b. A number has its "
                + "unit, its field's name or its type, as in 5%, battery-level=5 or --uint8 5; for text, use --text.")
    }
}
