/// A choice or a set of flags, described by the names of its constants: `chest`; `lowBatteryDetection, multipleBonds`.
///
/// The description of a choice without a name is its number. Flags without a name are described by their bits, such as
/// `0x8000`, and an empty set by `none`.
protocol NamedConstants: RawRepresentable, CustomStringConvertible where RawValue: FixedWidthInteger {
    /// The names of the constants: of the numbers of a choice, or of the bits of a set.
    static var names: [RawValue: String] { get }
    /// Returns the description of a raw value.
    static func text(of rawValue: RawValue) -> String
}

extension NamedConstants {
    /// The name of the constant, or the number if it has no name. For a set, the names of its flags, or `none`.
    public var description: String { Self.text(of: rawValue) }

    static func text(of rawValue: RawValue) -> String { names[rawValue] ?? "\(rawValue)" }

    /// Returns the names of consecutive numbers, and of other numbers.
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

    /// Returns the names of consecutive bits.
    static func bits(from first: Int = 0, _ names: String...) -> [RawValue: String] {
        names.enumerated().reduce(into: [:]) { $0[1 << (first + $1.offset)] = $1.element }
    }
}
