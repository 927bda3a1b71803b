internal import BLE

extension ValueFormat.Field {
    /// Encodes the text of a field.
    func encode(text: Substring) throws(BLEError) -> EncodedField {
        let trimmed = text.trimmed
        switch kind {
        case .text, .terminatedText, .text16: return .bytes(try bytes(of: String(text)))
        case .structure(let inner):
            guard inner.isDateTime else {
                throw error("is a structure: its fields are \(inner.map(\.title).joined(separator: ", "))")
            }
            return .bytes(try StructureEncoder(inner).encode(try DateTimeText(trimmed, self).items))
        case .uuid(let count): return .bytes(try bytes(of: try uuid(trimmed), count))
        case .bytes(let count):
            guard let bytes = trimmed == "no bytes" ? [] : Hex.bytes(String(trimmed)) else {
                throw error("is bytes, two hexadecimal digits each, not \(trimmed.quoted)")
            }
            return .bytes(try self.bytes(bytes, count))
        case .flags(let count): return try FlagsText(self, bytes: count).encode(trimmed)
        case .appearance, .boolean: return try choice(named: trimmed)
        case .integer, .bits, .medFloat, .float, .timeExponential:
            if let bits = special(named: trimmed) { return .bits(bits) }
            return choices.isEmpty ? try measured(trimmed) : try choice(named: trimmed)
        }
    }

    private func uuid(_ text: Substring) throws(BLEError) -> BluetoothUUID {
        if let uuid = BluetoothUUID(String(text)) { return uuid }
        let named = AssignedNumbers.named(String(text)).compactMap(\.uuid)
        guard let uuid = named.first else { throw error("is a UUID, not \(text.quoted)") }
        guard named.allSatisfy({ $0 == uuid }) else {
            let uuids = named.map(\.description).joined(separator: ", ")
            throw error("is \(text.quoted), the name of several UUIDs: \(uuids)")
        }
        return uuid
    }

    // MARK: Names

    /// Returns the bits of a special value. `unknown` and `invalid` are the names of those that the SIG's formats have
    /// most often.
    func special(named text: Substring) -> UInt128? {
        let own = text.lowercased()
        switch kind {
        case .medFloat(let count):
            return Self.medFloatSpecials.firstIndex(of: own).map {
                1 << UInt128(count == 2 ? 11 : 23) - 2 + UInt128($0)
            }
        case .float(let count): return Self.floatSpecials[own].map { UInt128(count == 4 ? UInt64($0.0) : $0.1) }
        default: break
        }
        let name = Self.specialAliases[own] ?? own
        let pattern = NamePattern(name)
        return specials.filter { $0.value == text || pattern.isName($0.value) }.keys.min().map { UInt128($0) }
    }

    /// The special values from the largest mantissa that is one. The bits of a negative mantissa follow those of the
    /// largest positive one.
    private static let medFloatSpecials = [
        "infinity", "not a number", "not at this resolution", "reserved", "-infinity",
    ]
    private static let floatSpecials: [String: (UInt32, UInt64)] = [
        "infinity": (Float.infinity.bitPattern, Double.infinity.bitPattern),
        "-infinity": ((-Float.infinity).bitPattern, (-Double.infinity).bitPattern),
        "not a number": (Float.nan.bitPattern, Double.nan.bitPattern),
    ]
    private static let specialAliases = [
        "unknown": "value is not known", "not known": "value is not known", "invalid": "value is not valid",
        "not valid": "value is not valid",
    ]

    /// Encodes a choice by its name or its number.
    private func choice(named text: Substring) throws(BLEError) -> EncodedField {
        let digits = text.hasSuffix(" (reserved)") ? text.dropLast(11) : text
        let number = digits.hasPrefix("0x") ? UInt64(digits.dropFirst(2), radix: 16) : UInt64(digits)
        if let number { return try choice(UInt128(number)) }
        let pattern = NamePattern(Self.switches[text.lowercased()].flatMap { isSwitch ? $0 : nil } ?? String(text))
        let names = namedChoices
        let found = names.filter { pattern.isName($0.name) }
        guard let first = found.first else {
            let some = names.prefix(12).map(\.name).joined(separator: ", ") + (names.count > 12 ? ", and others" : "")
            throw error("has no value \(text.quoted), but \(some)")
        }
        guard found.count == 1 else {
            let numbers = found.map { "\($0.number)" }.joined(separator: ", ")
            throw error("is \(text.quoted), the name of several numbers: \(numbers)")
        }
        return .bits(UInt128(first.number))
    }

    private static let switches = ["on": "true", "off": "false", "yes": "true", "no": "false"]

    /// Whether the choices are true and false.
    private var isSwitch: Bool { kind == .boolean || choices.count == 2 && choices[1]?.lowercased() == "true" }

    /// The numbers with names.
    private var namedChoices: [(number: UInt64, name: String)] {
        switch kind {
        case .boolean: [(0, "false"), (1, "true")]
        case .appearance:
            NumberTable.appearances.entries { _ in true }.compactMap { entry in
                Appearance(rawValue: entry.number).name.map { (UInt64(entry.number), $0) }
            }
        default: choices.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        }
    }

    // MARK: Numbers

    /// Encodes a number that may be followed by the unit.
    private func measured(_ text: Substring) throws(BLEError) -> EncodedField { try number(try decimal(text)) }

    /// Returns a number that may be followed by the unit.
    func decimal(_ text: Substring) throws(BLEError) -> DecimalNumber {
        let end = text.endOfNumber
        guard end > text.startIndex, var number = DecimalNumber(text[..<end]) else {
            let digits = end > text.startIndex ? " of at most 38 digits" : ""
            throw error("is a number\(digits)\(unitSymbol.map { " in \($0)" } ?? ""), not \(text.quoted)")
        }
        let unit = text[end...].trimmed
        if unit.foldedUnit == "µg/m3", self.unit == BluetoothUUID(0x2715) {
            // Low densities are shown in this unit.
            number.exponent -= 9
        } else if !unit.isEmpty, unit.foldedUnit != unitSymbol?[...].foldedUnit {
            throw error(wrongUnit: unit)
        }
        return number
    }
}

extension Substring {
    /// The text without white space at its ends.
    var trimmed: Substring {
        var text = drop(while: \.isWhitespace)
        while text.last?.isWhitespace == true { text.removeLast() }
        return text
    }

    /// The beginning of the text in quotation marks, for messages.
    var quoted: String { "“\(prefix(64))\(count > 64 ? "…" : "")”" }

    /// The end of the number that the text begins with.
    fileprivate var endOfNumber: Index {
        var end = startIndex
        func isDigit(_ index: Index) -> Bool { index < endIndex && self[index].isASCII && self[index].isNumber }
        func skipDigits(_ index: inout Index) { while isDigit(index) { index = self.index(after: index) } }
        if let first, "+-−".contains(first) { end = index(after: end) }
        let start = end
        skipDigits(&end)
        if end < endIndex, self[end] == "." {
            end = index(after: end)
            skipDigits(&end)
        }
        guard end > start else { return startIndex }
        guard end < endIndex, self[end] == "e" || self[end] == "E" else { return end }
        var power = index(after: end)
        if power < endIndex, "+-".contains(self[power]) { power = index(after: power) }
        guard isDigit(power) else { return end }
        skipDigits(&power)
        return power
    }

    /// The symbol of a unit with one spelling for characters that look the same.
    fileprivate var foldedUnit: String {
        String(map { ["μ": "µ", "²": "2", "³": "3", "º": "°", "Ω": "Ω"][$0] ?? $0 })
    }
}
