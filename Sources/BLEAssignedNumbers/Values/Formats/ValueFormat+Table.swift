import BLE

/// The notation of `NumberTable.formats`, which `Scripts/numbers/notation.py` describes.
extension ValueFormat {
    /// Creates the format in the table. Returns nil if there is none. The depth is the number of formats that contain
    /// this one.
    init?(number: UInt16, depth: Int) {
        guard depth < 4, let line = NumberTable.formats.name(number) else { return nil }
        self.init(notation: line, depth: depth)
    }

    init?(notation: String, depth: Int = 0) {
        let isRecord = notation.hasPrefix("*")
        var fields: [Field] = []
        for part in notation.dropFirst(isRecord ? 1 : 0).split(separator: "|", omittingEmptySubsequences: false) {
            guard let field = Field(notation: part, depth: depth) else { return nil }
            fields.append(field)
        }
        self.init(fields: fields, isRecord: isRecord)
    }
}

extension ValueFormat.Field {
    fileprivate init?(notation: Substring, depth: Int) {
        let parts = notation.split(separator: ";", omittingEmptySubsequences: false)
        guard let head = parts.first, let space = head.firstIndex(of: " ") else { return nil }
        let (type, name) = (head[..<space], String(head[head.index(after: space)...]))
        if type.first == "@" {
            guard let number = UInt16(type.dropFirst(), radix: 16),
                let format = ValueFormat(number: number, depth: depth + 1), !format.isRecord
            else { return nil }
            self.init(name, .structure(format.fields))
            if format.fields.count == 1 { self = format.fields[0].renamed(name, conditions: []) }
        } else {
            let isRepeated = type.last == "*"
            guard let kind = ValueFormat.Kind(notation: isRepeated ? type.dropLast() : type) else { return nil }
            self.init(name, kind)
            self.isRepeated = isRepeated
        }
        for part in parts.dropFirst() { guard take(part) else { return nil } }
        useDefinedUnit()
    }

    /// Replaces a unit with the multiple of it in which the SIG defines the value, which has no assigned number.
    private mutating func useDefinedUnit() {
        switch (unit?.short, scale) {
        case (0x2724, DecimalScale(decimal: 3)): (writtenUnit, scale) = ("kPa", DecimalScale())
        case (0x2725, DecimalScale(decimal: 3)): (writtenUnit, scale) = ("kJ", DecimalScale())
        case (0x272D, DecimalScale(decimal: -7)): (writtenUnit, scale) = ("µT", DecimalScale(decimal: -1))
        default: return
        }
        unit = nil
    }

    /// Parses a property of the field other than its type. Returns false if the notation is unknown.
    private mutating func take(_ part: Substring) -> Bool {
        let rest = part.dropFirst()
        switch part.first {
        case "?":
            let parsed =
                rest.isEmpty ? [.bytesLeft] : rest.split(separator: ",").map(ValueFormat.Condition.init(notation:))
            conditions = parsed.compactMap(\.self)
            return conditions.count == parsed.count
        case "#":
            if rest.first == "=" { writtenUnit = String(rest.dropFirst()) } else { unit = BluetoothUUID(String(rest)) }
            return unit != nil || writtenUnit != nil
        case "*": return Int(rest).map { scale.multiplier = $0 } != nil
        case "e": return Int(rest).map { scale.decimal = $0 } != nil
        case "p": return Int(rest).map { scale.binary = $0 } != nil
        case "[":
            let ends = rest.split(separator: ",").compactMap { Int64($0) }
            guard ends.count == 2, ends[0] <= ends[1] else { return false }
            range = ends[0]...ends[1]
            return true
        case "!":
            for item in rest.split(separator: "~") {
                guard let colon = item.firstIndex(of: ":"), let number = UInt64(item[..<colon], radix: 16) else {
                    return false
                }
                let name = item[item.index(after: colon)...]
                specials[number] =
                    name == "?" ? "value is not known" : name == "-" ? "value is not valid" : String(name)
            }
            return true
        case "=":
            choices = Self.names(rest, separator: "~").reduce(into: [:]) { $0[UInt64($1.numbers.lowerBound)] = $1.name }
            return !choices.isEmpty
        case "&":
            bits = Self.names(rest, separator: "~").map { numbers, text in
                let parts = text.split(separator: "^", maxSplits: 1, omittingEmptySubsequences: false)
                let choices = parts.count < 2 ? [] : Self.names(parts[1], separator: "^")
                return ValueFormat.Bits(
                    range: numbers, name: String(parts[0]),
                    choices: choices.reduce(into: [:]) { $0[UInt64($1.numbers.lowerBound)] = $1.name })
            }
            return bits.allSatisfy { $0.range.upperBound < 64 }
        default: return false
        }
    }

    /// Parses names with their numbers: `0:a~b~4-5:c`. A name without a number has the number after the previous one.
    private static func names(_ text: Substring, separator: Character) -> [(numbers: ClosedRange<Int>, name: String)] {
        var next = 0
        return text.split(separator: separator, omittingEmptySubsequences: false).map { item in
            var (numbers, name) = (next...next, String(item))
            if let colon = item.firstIndex(of: ":"), let range = Self.range(item[..<colon]) {
                (numbers, name) = (range, String(item[item.index(after: colon)...]))
            }
            next = numbers.upperBound &+ 1
            return (numbers, name)
        }
    }

    private static func range(_ text: Substring) -> ClosedRange<Int>? {
        let ends = text.split(separator: "-", omittingEmptySubsequences: false).map { UInt16($0).map(Int.init) }
        guard (1...2).contains(ends.count), let low = ends[0], let high = ends[ends.count - 1], low <= high else {
            return nil
        }
        return low...high
    }
}

extension ValueFormat.Kind {
    fileprivate init?(notation: Substring) {
        let digits = notation.dropFirst()
        guard let letter = notation.first, let size = digits.isEmpty ? 0 : Int(digits) else { return nil }
        switch (letter, size) {
        case ("u", 1...8), ("s", 1...8): self = .integer(bytes: size, bits: size * 8, isSigned: letter == "s")
        case ("%", 1...16): self = .bits(size)
        case ("m", 2), ("m", 4): self = .medFloat(bytes: size)
        case ("f", 4), ("f", 8): self = .float(bytes: size)
        case ("b", 0...8): self = .flags(bytes: size > 0 ? size : nil)
        case ("t", 0...512): self = .text(bytes: size > 0 ? size : nil)
        case ("g", 0), ("g", 2): self = .uuid(bytes: size > 0 ? size : nil)
        case ("x", 0...512): self = .bytes(size > 0 ? size : nil)
        case ("z", 0): self = .terminatedText
        case ("T", 0): self = .timeExponential
        case ("a", 0): self = .appearance
        default: return nil
        }
    }
}

extension ValueFormat.Condition {
    /// Parses a condition: `0.3=1`, `0==2` or `2!0`.
    fileprivate init?(notation: Substring) {
        guard let sign = notation.firstIndex(where: { !$0.isNumber }), let field = Int(notation[..<sign]) else {
            return nil
        }
        let rest = notation[sign...]
        switch rest.first {
        case ".":
            let numbers = rest.dropFirst().split(separator: "=").compactMap { Int($0) }
            guard numbers.count == 2, (0..<64).contains(numbers[0]) else { return nil }
            self = .bit(field: field, bit: numbers[0], isSet: numbers[1] != 0)
        case "=":
            guard rest.hasPrefix("=="), let value = UInt64(rest.dropFirst(2)) else { return nil }
            self = .equal(field: field, value)
        case "!":
            guard let value = UInt64(rest.dropFirst()) else { return nil }
            self = .unequal(field: field, value)
        default: return nil
        }
    }
}
