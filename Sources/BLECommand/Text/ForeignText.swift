/// Text that others wrote, such as a name that comes over the air, as it may stand in a line for people.
///
/// Nothing in it commands a terminal, ends a line or turns the direction of what follows. Colors are added to it afterward, so
/// that the only control sequences in the output are this program's own.
struct ForeignText: CustomStringConvertible {
    /// The text: each control character, line separator and bidirectional control is U+FFFD, a replacement character.
    let description: String

    init(_ text: String) {
        var scalars = String.UnicodeScalarView()
        for scalar in text.unicodeScalars { scalars.append(Self.isCommand(scalar) ? "\u{FFFD}" : scalar) }
        description = String(scalars)
    }

    private static func isCommand(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0...0x1F, 0x7F...0x9F, 0x2028...0x2029, 0x202A...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}

extension String {
    /// As ``ForeignText`` has it.
    var harmless: String { ForeignText(self).description }
}
