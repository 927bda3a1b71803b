/// A choice or a set of flags that is shown by the names of its constants: `chest`; `lowBatteryDetection, multipleBonds`.
///
/// A choice without a name is shown as its number, flags without one as their bits, such as `0x8000`, and an empty set as `none`.
protocol NamedConstants: RawRepresentable, CustomStringConvertible where RawValue: FixedWidthInteger {
    /// The names of the constants: of all numbers of a choice, of the single bits of a set.
    static var names: [RawValue: String] { get }
    /// What a number is shown as.
    static func text(of rawValue: RawValue) -> String
}

extension NamedConstants {
    /// The name of the constant that it is, as in the source; the number where it has none. The names of a set's flags, or `none`.
    public var description: String { Self.text(of: rawValue) }

    static func text(of rawValue: RawValue) -> String { names[rawValue] ?? "\(rawValue)" }

    /// Names of numbers that follow each other, and of others.
    static func consecutive(
        from first: RawValue = 0, _ names: String..., and others: [RawValue: String] = [:]
    ) -> [RawValue: String] {
        names.enumerated().reduce(into: others) { $0[first + RawValue($1.offset)] = $1.element }
    }
}

extension NamedConstants where Self: OptionSet {
    static func text(of rawValue: RawValue) -> String {
        let bits = (0..<RawValue.bitWidth).map { 1 << $0 as RawValue }.filter { rawValue & $0 != 0 }
        let others = bits.filter { names[$0] == nil }.reduce(0, |)
        let texts =
            bits.compactMap { names[$0] } + (others == 0 ? [] : ["0x" + String(others, radix: 16, uppercase: true)])
        return texts.isEmpty ? "none" : texts.joined(separator: ", ")
    }

    /// Names of bits that follow each other.
    static func bits(from first: Int = 0, _ names: String...) -> [RawValue: String] {
        names.enumerated().reduce(into: [:]) { $0[1 << (first + $1.offset)] = $1.element }
    }
}
