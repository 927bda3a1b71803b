import ArgumentParser
import BLE
import BLEBTHome

/// An object of a BTHome report, by name or id: `temperature=21.5`, `window=open`, `button=double-press`, `0x45=21.5`.
struct BTHomeArgument: ExpressibleByArgument, Sendable {
    let object: BTHomeObject

    init?(argument: String) {
        let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { return nil }
        // Several kinds may have a name. The first that has room for the value is the one.
        let objects = Self.kinds(parts[0]).lazy.compactMap { kind in
            Self.content(parts[1], kind).flatMap { try? BTHomeObject(kind, $0) }
                ?? Double(parts[1]).flatMap { try? BTHomeObject(kind, value: $0) }
        }
        guard let object = objects.first else { return nil }
        self.object = object
    }

    private static func kinds(_ name: String) -> [BTHomeKind] {
        if name.hasPrefix("0x") {
            return UInt8(name.dropFirst(2), radix: 16).flatMap(BTHomeKind.init(id:)).map { [$0] } ?? []
        }
        return BTHomeKind.all.filter { dashed($0.name) == name.lowercased() }
    }

    /// The value of a kind that is not a number.
    private static func content(_ text: String, _ kind: BTHomeKind) -> BTHomeObject.Content? {
        switch kind.coding {
        case .flag:
            [false, true].first { isOn in
                text == (isOn ? "on" : "off")
                    || (try? BTHomeObject(kind, .flag(isOn)))?.description == "\(kind.name) \(text)"
            }.map { .flag($0) }
        case .button: BTHomeButton.allCases.first { dashed($0.description) == text }.map { .button($0) }
        case .text: .text(text)
        case .raw: Hex.bytes(text).map { .raw($0) }
        case .version:
            text.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
                .reduce([]) { numbers, number in number.flatMap { number in numbers.map { $0 + [number] } } }
                .map { .version($0) }
        case .unsigned, .signed, .dimmer, .command: nil
        }
    }

    private static func dashed(_ name: String) -> String { name.lowercased().replacing(" ", with: "-") }
}
