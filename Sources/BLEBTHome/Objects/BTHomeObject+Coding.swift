internal import BLE

extension BTHomeObject {
    /// Decodes an object of the given kind, whose id was already read, from the beginning of `rest`. Nil for an unknown
    /// command. Throws if the object is truncated or has an invalid value.
    init?(_ kind: BTHomeKind, reading rest: inout ArraySlice<UInt8>) throws(AdvertisementFormatError) {
        func take(_ count: Int) throws(AdvertisementFormatError) -> ArraySlice<UInt8> {
            guard count <= rest.count else { throw BTHome.error(.invalidLength(rest.count)) }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count)
        }
        func byte() throws(AdvertisementFormatError) -> UInt8 { try take(1).reduce(0) { $0 | $1 } }
        self.kind = kind
        switch kind.coding {
        case .unsigned(let count, _): content = .number(Self.unsigned(try take(count)))
        case .signed(let count, _):
            let unused = 64 - 8 * count
            content = .number((Self.unsigned(try take(count)) << unused) >> unused)
        case .flag:
            let value = try byte()
            guard value <= 1 else { throw BTHome.error(.invalidValue(field: kind.name)) }
            content = .flag(value == 1)
        case .button: content = .button(BTHomeButton(received: try byte()))
        case .dimmer: content = .dimmer(BTHomeDimmer(rawValue: try byte()) ?? .none, steps: try byte())
        case .command:
            // The upper three bits are reserved.
            let count = Int(try byte() & 0x1F)
            let command = BTHomeCommand(rawValue: try byte())
            let arguments = Array(try take(count))
            guard let command else { return nil }
            content = .command(command, arguments: arguments)
        case .text:
            let bytes = try take(Int(byte()))
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw BTHome.error(.invalidText(field: kind.name))
            }
            content = .text(text)
        case .raw: content = .raw(Array(try take(Int(byte()))))
        case .version(let count): content = .version(try take(count).reversed())
        }
    }

    /// The id, followed by the encoded value.
    var bytes: [UInt8] {
        switch content {
        case .number(let number):
            switch kind.coding {
            case .unsigned(let count, _), .signed(let count, _):
                [kind.id] + (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * Int64($0))) }
            default: []
            }
        case .flag(let isOn): [kind.id, isOn ? 1 : 0]
        case .button(let button): [kind.id, button.rawValue]
        case .dimmer(let direction, let steps): [kind.id, direction.rawValue, steps]
        case .command(let command, let arguments): [kind.id, UInt8(arguments.count), command.rawValue] + arguments
        case .text(let text): [kind.id, UInt8(text.utf8.count)] + text.utf8
        case .raw(let bytes): [kind.id, UInt8(bytes.count)] + bytes
        case .version(let numbers): [kind.id] + numbers.reversed()
        }
    }

    private static func unsigned(_ bytes: ArraySlice<UInt8>) -> Int64 {
        bytes.reversed().reduce(0) { $0 << 8 | Int64($1) }
    }
}

extension BTHomeButton {
    /// The event of a received number. Shelly's buttons send FE while they are held.
    fileprivate init(received number: UInt8) { self = number == 0xFE ? .holdPress : Self(rawValue: number) ?? .none }
}
