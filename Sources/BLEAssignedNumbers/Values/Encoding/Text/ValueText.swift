internal import BLE

/// The text of a value, which has the texts of its fields.
struct ValueText {
    private let text: String

    init(_ text: String) { self.text = text }

    private typealias Pair = (name: Substring, text: Substring)

    /// Returns what the text gives for the fields of a format.
    func items(of format: ValueFormat) throws(BLEError) -> [EncodedItem] {
        let fields = format.fields
        guard !format.isRecord else { return try Self.items(of: fields, try pairs(fields)) }
        if fields.isDateTime, !text.contains("=") {
            return try DateTimeText(text[...].trimmed, ValueFormat.Field("", .structure(fields))).items
        }
        guard fields.count == 1, let field = fields.first, !field.isNested else {
            return try Self.items(of: fields, try pairs(fields))
        }
        if !field.isText, let sign = text.firstIndex(of: "="), field.isNamed(text[..<sign]) {
            return try Self.items(of: fields, try pairs(fields))
        }
        return Self.items(field, text[...])
    }

    /// Returns the pairs of names and texts. A part without a name belongs to the text before it.
    private func pairs(_ fields: [ValueFormat.Field]) throws(BLEError) -> [Pair] {
        let names = fields.leaves.titles
        var (pairs, field) = ([Pair](), ValueFormat.Field?.none)
        for part in text.split(omittingEmptySubsequences: false, whereSeparator: { $0 == "," || $0 == ";" }) {
            let sign = part.firstIndex(of: "=")
            let name = sign.map { part[..<$0].trimmed }
            let named = name.flatMap { name in fields.leaves.first { $0.isNamed(name) } }
            if let sign, let name, let named {
                pairs.append((name, part[part.index(after: sign)...]))
                field = named
            } else if let previous = pairs.last, sign == nil || field?.isText == true {
                pairs[pairs.count - 1].text = text[previous.text.startIndex..<part.endIndex]
            } else {
                throw BLEError(
                    .invalidValue,
                    name.map { "there is no field \($0.quoted), but \(names)" }
                        ?? "the value has several fields, given as name=value: \(names)")
            }
        }
        guard pairs.count <= 512 else { throw BLEError(.invalidValue, "there are more than 512 fields") }
        return pairs
    }

    /// Returns what pairs give for fields, and for those of structures in them.
    private static func items(of fields: [ValueFormat.Field], _ pairs: [Pair]) throws(BLEError) -> [EncodedItem] {
        var (items, left) = ([EncodedItem](), pairs)
        for (name, text) in pairs {
            guard let field = fields.first(where: { !$0.isNested && $0.isNamed(name) }) else { continue }
            left.removeAll { $0.text.startIndex == text.startIndex }
            items += Self.items(field, field.isText ? text : text.trimmed, name)
        }
        for field in fields where field.isNested {
            guard let inner = field.inner else { continue }
            let own = left.filter { pair in inner.leaves.contains { $0.isNamed(pair.name) } }
            guard !own.isEmpty else { continue }
            left.removeAll { pair in own.contains { $0.text.startIndex == pair.text.startIndex } }
            items.append(EncodedItem(name: field.name, input: .items(try Self.items(of: inner, own))))
        }
        return items
    }

    /// Returns an item with the text of a field, or several if the field is repeated.
    private static func items(_ field: ValueFormat.Field, _ text: Substring, _ name: Substring? = nil) -> [EncodedItem]
    {
        let name = name.map(String.init) ?? field.name
        let texts = field.isRepeated ? text.split(separator: ",", omittingEmptySubsequences: false) : [text]
        return texts.map { text in
            let end = text.lastIndex { $0.isNumber }.map(text.index(after:)) ?? text.startIndex
            var item = EncodedItem(name: name, input: .text(String(text)))
            item.hasUnit = field.isNumber && !text[end...].trimmed.isEmpty
            return item
        }
    }
}

extension ValueFormat.Field {
    /// Whether the field is a structure whose fields are given by name.
    fileprivate var isNested: Bool { inner.map { !$0.isDateTime } ?? false }

    /// Whether the field is text.
    fileprivate var isText: Bool {
        switch kind {
        case .text, .terminatedText, .text16: true
        default: false
        }
    }
}

extension [ValueFormat.Field] {
    /// The different names of the fields, for messages.
    var titles: String {
        var titles: [String] = []
        for title in map(\.title) where !titles.contains(title) { titles.append(title) }
        return titles.joined(separator: ", ")
    }

    /// The fields, with those of structures in place of the structures.
    fileprivate var leaves: [ValueFormat.Field] {
        flatMap { field in field.inner.flatMap { $0.isDateTime ? nil : $0.leaves } ?? [field] }
    }
}
