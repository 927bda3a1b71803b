public import BLE

/// An object in the report of a BTHome device, such as a measurement or an event.
public struct BTHomeObject: Hashable, Sendable {
    /// The value of the object.
    public enum Content: Hashable, Sendable {
        /// The number that was sent, in steps of the kind. ``BTHomeObject/value`` is in the kind's unit.
        case number(Int64)
        /// On or off.
        case flag(Bool)
        /// An event of a button.
        case button(BTHomeButton)
        /// A dimmer was turned by the given number of steps.
        case dimmer(BTHomeDimmer, steps: UInt8)
        /// A command with at most 31 bytes, whose meaning the manufacturer defines.
        case command(BTHomeCommand, arguments: [UInt8])
        /// Text.
        case text(String)
        /// Bytes.
        case raw([UInt8])
        /// The numbers of a version, most significant first.
        case version([UInt8])
    }

    /// The kind of the object.
    public let kind: BTHomeKind
    /// The value of the object.
    public let content: Content

    /// Creates an object. Throws `invalidValue` if the content does not match the kind's coding, or if a number is out
    /// of range, and `invalidLength` if there are too many bytes.
    public init(_ kind: BTHomeKind, _ content: Content) throws(AdvertisementFormatError) {
        self.kind = kind
        self.content = content
        try check()
    }

    /// Creates an object from a number in the kind's unit, rounded to its steps. Throws `invalidValue` if it is out of
    /// range, or if the kind is not a number.
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

    /// The number in the kind's unit. Nil if the object is not a number.
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
