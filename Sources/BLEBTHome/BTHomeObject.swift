public import BLEProfiles

/// One thing that a BTHome device tells.
public struct BTHomeObject: Hashable, Sendable {
    /// What is told.
    public enum Content: Hashable, Sendable {
        /// A number as it is sent, in steps of the kind's; ``BTHomeObject/value`` is what it means.
        case number(Int64)
        /// On or off.
        case flag(Bool)
        /// A button was used.
        case button(BTHomeButton)
        /// A dimmer was turned by so many steps.
        case dimmer(BTHomeDimmer, steps: UInt8)
        /// A command, with at most 31 bytes that the manufacturer knows.
        case command(BTHomeCommand, arguments: [UInt8])
        /// Text.
        case text(String)
        /// Bytes.
        case raw([UInt8])
        /// The numbers of a version, the most significant first.
        case version([UInt8])
    }

    /// What is told of.
    public let kind: BTHomeKind
    /// What is told.
    public let content: Content

    /// Something told. Throws `invalidValue` when the content is not of the kind's coding, or a number out of its range, and
    /// `invalidLength` when there are more bytes than the length can tell.
    public init(_ kind: BTHomeKind, _ content: Content) throws(AdvertisementFormatError) {
        self.kind = kind
        self.content = content
        try check()
    }

    /// A number in the kind's unit, rounded to its steps. Throws `invalidValue` when there is no such number.
    public init(_ kind: BTHomeKind, value: Double) throws(AdvertisementFormatError) {
        let step: BTHomeKind.Step
        switch kind.coding {
        case .unsigned(_, let own), .signed(_, let own): step = own
        default: throw BTHome.error(.invalidValue(field: kind.name))
        }
        let raw = (value * Double(step.denominator) / Double(step.numerator)).rounded()
        guard let number = Int64(exactly: raw) else { throw BTHome.error(.invalidValue(field: kind.name)) }
        try self.init(kind, .number(number))
    }

    /// The number in the kind's unit; nil for what is no number.
    public var value: Double? {
        guard case .number(let number) = content else { return nil }
        switch kind.coding {
        case .unsigned(_, let step), .signed(_, let step):
            return Double(number * step.numerator) / Double(step.denominator)
        default: return nil
        }
    }

    private func check() throws(AdvertisementFormatError) {
        let isGood =
            switch (kind.coding, content) {
            case (.unsigned(let count, _), .number(let number)): 0 <= number && number < 1 << (8 * count)
            case (.signed(let count, _), .number(let number)):
                -1 << (8 * count - 1) <= number && number < 1 << (8 * count - 1)
            case (.flag, .flag), (.button, .button), (.dimmer, .dimmer), (.command, .command), (.text, .text),
                (.raw, .raw):
                true
            case (.version(let count), .version(let numbers)): numbers.count == count
            default: false
            }
        guard isGood else { throw BTHome.error(.invalidValue(field: kind.name)) }
        switch content {
        case .command(_, let arguments): try Self.check(arguments.count, 31)
        case .text(let text): try Self.check(text.utf8.count, 255)
        case .raw(let bytes): try Self.check(bytes.count, 255)
        case .number, .flag, .button, .dimmer, .version: break
        }
    }

    private static func check(_ count: Int, _ maximum: Int) throws(AdvertisementFormatError) {
        guard count <= maximum else { throw BTHome.error(.invalidLength(count)) }
    }
}
