/// Text from other sources, such as an advertised name, made safe to show in a line for people.
///
/// It cannot control a terminal, end a line, or change the direction of the text after it. Colors are added later, so
/// that all control sequences in the output are this program's own.
package struct ForeignText: CustomStringConvertible {
    /// The text, in which each control character, line separator and bidirectional control is replaced by U+FFFD.
    package let description: String

    package init(_ text: String) {
        var scalars = String.UnicodeScalarView()
        for scalar in text.unicodeScalars { scalars.append(Self.isCommand(scalar) ? "\u{FFFD}" : scalar) }
        description = String(scalars)
    }

    /// Whether a terminal may interpret this character as a command instead of showing it.
    package static func isCommand(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0...0x1F, 0x7F...0x9F, 0x2028...0x2029, 0x202A...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}

extension String {
    /// The text, made safe by ``ForeignText``.
    package var harmless: String { ForeignText(self).description }

    /// The beginning of the text, made safe, for a message.
    package var excerpt: String {
        let limit = 60
        let beginning = unicodeScalars.prefix(limit + 1)
        guard beginning.count > limit else { return harmless }
        return String(String.UnicodeScalarView(beginning.dropLast())).harmless + "…"
    }

    /// The text, made safe line by line.
    package var harmlessLines: String {
        split(separator: "\n", omittingEmptySubsequences: false).map { String($0).harmless }.joined(separator: "\n")
    }
}
