/// The number of six digits that two devices compare, or that one shows and the other is given (Core Specification 5.4,
/// volume 3, part H, section 2.3.5).
public struct Passkey: Hashable, Sendable {
    /// The number, 0 to 999999.
    public let value: UInt32

    /// A passkey; nil for a number above 999999.
    public init?(_ value: UInt32) {
        guard value <= 999_999 else { return nil }
        self.value = value
    }

    /// The number that a person has typed: digits, with spaces between them as they like. Nil when it is none.
    public init?(_ text: some StringProtocol) {
        let digits = String(text.filter { $0 != " " })
        guard (1...6).contains(digits.count), digits.allSatisfy({ ("0"..."9").contains($0) }),
            let value = UInt32(digits)
        else { return nil }
        self.init(value)
    }
}

extension Passkey: CustomStringConvertible {
    /// Six digits, with zeros in front.
    public var description: String {
        let digits = String(value)
        return String(repeating: "0", count: 6 - digits.count) + digits
    }
}
