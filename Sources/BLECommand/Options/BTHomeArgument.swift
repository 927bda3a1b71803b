import ArgumentParser
import BLE
import BLEBTHome

/// An object of a BTHome report, by name or id: `temperature=21.5`, `window=open`, `button=double-press`, `0x45=21.5`.
struct BTHomeArgument: Sendable {
    let object: BTHomeObject

    /// Throws a `ValidationError` that lists the possible values.
    init(named argument: String) throws {
        let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2 else {
            throw ValidationError("\(argument): an object has a name and a value, such as temperature=21.5.")
        }
        let kinds = Self.kinds(parts[0].lowercased())
        guard let kind = kinds.first else { throw Self.unknown(parts[0]) }
        // Several kinds may have the same name. Uses the first kind that can represent the value.
        let objects = kinds.lazy.compactMap { Self.object(parts[1], $0) }
        guard let object = objects.first else {
            throw ValidationError("\(argument): \(parts[0]) takes \(Self.values(of: kind, kinds)).")
        }
        self.object = object
    }

    private static func kinds(_ name: String) -> [BTHomeKind] {
        if name.hasPrefix("0x") {
            return UInt8(name.dropFirst(2), radix: 16).flatMap(BTHomeKind.init(id:)).map { [$0] } ?? []
        }
        return BTHomeKind.all.filter { dashed($0.name) == name }
    }

    private static func unknown(_ name: String) -> ValidationError {
        let names = Set(BTHomeKind.all.map { dashed($0.name) }).sorted()
        guard let nearest = Spelling.nearest(to: name.lowercased(), in: names) else {
            return ValidationError(
                "BTHome has no object \"\(name)\". Its objects are: \(names.joined(separator: ", ")), "
                    + "or an id such as 0x45."
            )
        }
        return ValidationError("BTHome has no object \"\(name)\". Did you mean \"\(nearest)\"?")
    }

    private static func object(_ text: String, _ kind: BTHomeKind) -> BTHomeObject? {
        switch kind.coding {
        case .unsigned, .signed: return Double(text).flatMap { try? BTHomeObject(kind, value: $0) }
        case .flag:
            guard let index = words(kind).firstIndex(of: text.lowercased()) else { return nil }
            return try? BTHomeObject(kind, .flag(index % 2 == 1))
        case .button:
            let button = BTHomeButton.allCases.first { dashed($0.description) == text.lowercased() }
            return button.flatMap { try? BTHomeObject(kind, .button($0)) }
        case .text: return try? BTHomeObject(kind, .text(text))
        case .raw: return Hex.bytes(text).flatMap { try? BTHomeObject(kind, .raw($0)) }
        case .version:
            let numbers = text.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
            guard !numbers.contains(nil) else { return nil }
            return try? BTHomeObject(kind, .version(numbers.compactMap(\.self)))
        case .dimmer, .command: return nil
        }
    }

    /// The words for off and on.
    private static func words(_ kind: BTHomeKind) -> [String] {
        ["off", "on"]
            + [false, true].compactMap { isOn in
                (try? BTHomeObject(kind, .flag(isOn)))?.description.dropFirst(kind.name.count + 1).lowercased()
                    .replacing(" ", with: "-")
            }
    }

    private static func values(of kind: BTHomeKind, _ kinds: [BTHomeKind]) -> String {
        switch kind.coding {
        case .unsigned, .signed:
            let ranges = kinds.compactMap(range)
            guard let least = ranges.map(\.lowerBound).min(), let most = ranges.map(\.upperBound).max() else {
                return "a number"
            }
            return "a number from \(least) to \(most)" + (kind.unit.isEmpty ? "" : " (\(kind.unit))")
        case .flag: return Array(Set(words(kind))).sorted().joined(separator: ", ")
        case .button: return BTHomeButton.allCases.map { dashed($0.description) }.joined(separator: ", ")
        case .text: return "a text of up to 255 bytes"
        case .raw: return "bytes in hexadecimal"
        case .version(let count):
            return "\(count) numbers, such as \((1...count).map { "\($0)" }.joined(separator: "."))"
        case .dimmer, .command: return "not supported on the command line"
        }
    }

    private static func range(_ kind: BTHomeKind) -> ClosedRange<Double>? {
        func scaled(_ least: Double, _ most: Double, _ step: BTHomeKind.Step) -> ClosedRange<Double> {
            // Divided last, so that the limits are printed without rounding errors: 3276.7, not 3276.7000000000003.
            func scaled(_ limit: Double) -> Double { limit * Double(step.numerator) / Double(step.denominator) }
            return scaled(least)...scaled(most)
        }
        switch kind.coding {
        case .unsigned(let count, let step): return scaled(0, Double(1 << (8 * count)) - 1, step)
        case .signed(let count, let step):
            return scaled(-Double(1 << (8 * count - 1)), Double(1 << (8 * count - 1)) - 1, step)
        default: return nil
        }
    }

    private static func dashed(_ name: String) -> String { name.lowercased().replacing(" ", with: "-") }
}
