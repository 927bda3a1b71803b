/// The external appearance of a device (Assigned Numbers, section 2.6).
///
/// The names of categories and subcategories are in the module `BLEAssignedNumbers`.
public struct Appearance: RawRepresentable, Hashable, Codable, ValueCodable {
    /// The number as advertised: 10 bits of category, 6 bits of subcategory.
    public let rawValue: UInt16

    /// Creates an appearance with any number.
    public init(rawValue: UInt16) { self.rawValue = rawValue }
}

extension Appearance: ExpressibleByIntegerLiteral {
    /// Creates an appearance with any number.
    public init(integerLiteral value: UInt16) { self.init(rawValue: value) }
}
