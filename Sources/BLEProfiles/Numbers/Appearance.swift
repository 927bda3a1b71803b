public import BLE

/// What a device looks like, in the SIG's words (Assigned Numbers, section 2.6.3).
public struct Appearance: RawRepresentable, Hashable, ValueCodable {
    /// The number, as it is advertised: 10 bits of category, 6 bits of subcategory.
    public let rawValue: UInt16

    /// Any number.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The category, such as `Heart Rate Sensor`; nil where there is none of that number.
    public var category: String? { NumberTable.appearances.name(rawValue & 0xFFC0) }

    /// The subcategory, such as `Heart Rate Belt`; nil where there is none of that number, and for the category in general.
    public var subcategory: String? { rawValue & 0x3F == 0 ? nil : NumberTable.appearances.name(rawValue) }

    /// The category and, after a colon, the subcategory, as far as they have names: `Heart Rate Sensor: Heart Rate Belt`.
    public var name: String? {
        category.map { category in subcategory.map { "\(category): \($0)" } ?? category }
    }
}
