/// The six-digit number that two devices compare, or that one shows and the user enters on the other (Core
/// Specification 5.4, volume 3, part H, section 2.3.5).
public struct Passkey: Hashable, Sendable {
    /// The number, 0 to 999999.
    public let value: UInt32

    /// Creates a passkey. Nil for a number above 999999.
    public init?(_ value: UInt32) {
        guard value <= 999_999 else { return nil }
        self.value = value
    }

    /// Creates a passkey from 1 to 6 digits, which may be separated by spaces. Nil for any other text.
    public init?(_ text: some StringProtocol) {
        let digits = String(text.filter { $0 != " " })
        guard (1...6).contains(digits.count), digits.allSatisfy({ ("0"..."9").contains($0) }),
            let value = UInt32(digits)
        else { return nil }
        self.init(value)
    }
}

extension Passkey: CustomStringConvertible {
    /// Six digits, with leading zeros.
    public var description: String {
        let digits = String(value)
        return String(repeating: "0", count: 6 - digits.count) + digits
    }
}
