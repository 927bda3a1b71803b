public import BLE

extension Appearance {
    /// The category, such as `Heart Rate Sensor`. Nil if the number has no category.
    public var category: String? { NumberTable.appearances.name(rawValue & 0xFFC0) }

    /// The subcategory, such as `Heart Rate Belt`. Nil for a generic appearance, and if the number has no subcategory.
    public var subcategory: String? { rawValue & 0x3F == 0 ? nil : NumberTable.appearances.name(rawValue) }

    /// The category and, after a colon, the subcategory if there is one: `Heart Rate Sensor: Heart Rate Belt`.
    public var name: String? {
        category.map { category in subcategory.map { "\(category): \($0)" } ?? category }
    }
}
