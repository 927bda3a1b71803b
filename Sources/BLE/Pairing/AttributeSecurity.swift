/// The security that an attribute requires of the link.
public enum AttributeSecurity: Int, Comparable, Hashable, Sendable {
    /// No security.
    case open
    /// Encryption, after any pairing.
    case encrypted
    /// Encryption, after a pairing in which the user compared or entered a number.
    case authenticated

    /// Compares the levels of security.
    public static func < (left: AttributeSecurity, right: AttributeSecurity) -> Bool {
        left.rawValue < right.rawValue
    }
}
