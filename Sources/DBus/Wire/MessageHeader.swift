/// The fields of a message's header. Nil for those that it does not have.
struct MessageHeader {
    var path: String?
    var interface: String?
    var member: String?
    var errorName: String?
    var replySerial: UInt32?
    var destination: String?
    /// The types of the body's values; empty if it has none.
    var signature = ""
    var descriptorCount = 0

    /// A field of the specification, by its code.
    enum Field: UInt8 {
        case path = 1
        case interface = 2
        case member = 3
        case errorName = 4
        case replySerial = 5
        case destination = 6
        case signature = 8
        case descriptorCount = 9

        /// The type of its value.
        var type: UInt8 {
            switch self {
            case .path: UInt8(ascii: "o")
            case .interface, .member, .errorName, .destination: UInt8(ascii: "s")
            case .signature: UInt8(ascii: "g")
            case .replySerial, .descriptorCount: UInt8(ascii: "u")
            }
        }

        /// Whether a text is valid by the specification's chapters "Valid Names" and "Type System".
        func allows(_ text: String) -> Bool {
            switch self {
            case .path: DBusValue.isObjectPath(text) && text != "/org/freedesktop/DBus/Local"
            case .interface, .errorName: Self.isName(text, .many) && text != "org.freedesktop.DBus.Local"
            case .member: Self.isName(text, .one)
            case .destination: Self.isName(text, text.utf8.first == UInt8(ascii: ":") ? .unique : .dashed)
            case .signature: DBusValue.isSignature(text)
            case .replySerial, .descriptorCount: false
            }
        }

        private enum Form {
            /// One element.
            case one
            /// Several elements, with dots between them.
            case many
            /// Several elements, which may contain dashes.
            case dashed
            /// A colon, and elements that may contain dashes and begin with a digit.
            case unique
        }

        /// Whether each element of a name consists of letters, digits and underscores, is not empty and does not begin
        /// with a digit.
        private static func isName(_ name: String, _ form: Form) -> Bool {
            var isFirst = true
            var dots = 0
            for character in form == .unique ? name.utf8.dropFirst() : name.utf8[...] {
                switch character {
                case UInt8(ascii: "."):
                    guard !isFirst else { return false }
                    dots += 1
                    isFirst = true
                    continue
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"):
                    break
                case UInt8(ascii: "0")...UInt8(ascii: "9"): guard !isFirst || form == .unique else { return false }
                case UInt8(ascii: "-"): guard form == .dashed || form == .unique else { return false }
                default: return false
                }
                isFirst = false
            }
            return !isFirst && name.utf8.count < 256 && (dots > 0) == (form != .one)
        }
    }
}
