internal import BLE

/// What the writes of a definition cause: values of other characteristics, and rejections.
struct Reactions {
    /// The position of a characteristic in the definition.
    struct Position: Hashable {
        let service: Int
        let characteristic: Int
    }

    /// A reaction to certain written values.
    private struct Reaction: Sendable {
        /// The value with which a written one is compared.
        var pattern: [UInt8] = []
        /// Whether the whole value is compared, or only its beginning.
        var isWhole = false
        /// The code that rejects the write. Nil if it is accepted.
        var error: ATTError?
        var changes: [Change] = []

        func matches(_ value: [UInt8]) -> Bool { isWhole ? value == pattern : value.starts(with: pattern) }
    }

    /// A value that a write sets.
    private struct Change: Sendable {
        let target: ServedValue<[UInt8]>
        /// The value. Nil for the written one.
        let value: [UInt8]?
    }

    /// The values of the characteristics that have reactions, or that a reaction sets.
    private var values: [Position: ServedValue<[UInt8]>] = [:]
    private var reactions: [Position: [Reaction]] = [:]

    /// The longest value of a characteristic, in bytes.
    private static let maximumLength = 512
    /// The word for the written value.
    private static let written = "written"

    /// Reads the reactions of all characteristics.
    init(_ services: Entry) throws {
        var positions: [BluetoothUUID: [Position]] = [:]
        var objects: [(Position, BluetoothUUID, [String: Entry])] = []
        for (service, entry) in try services.array().enumerated() {
            let characteristics = try DefinitionFile.object(entry, "service")["characteristics"]?.array() ?? []
            for (characteristic, entry) in characteristics.enumerated() {
                let object = try DefinitionFile.object(entry, "characteristic")
                let uuid = try object.required("uuid", in: entry.place).characteristic()
                let position = Position(service: service, characteristic: characteristic)
                positions[uuid, default: []].append(position)
                objects.append((position, uuid, object))
            }
        }
        let lists = try objects.compactMap { position, _, object in
            try object["onWrite"].map { (position, try $0.array().map { try DefinitionFile.object($0, "reaction") }) }
        }
        // The targets first, so that reactions can refer to characteristics that follow.
        var targets = Set(lists.map(\.0))
        for (_, list) in lists {
            for entry in list.compactMap({ $0["set"] }) {
                for (name, entry) in try entry.entries() { targets.insert(try Self.target(name, entry, positions)) }
            }
        }
        for (position, uuid, object) in objects where targets.contains(position) {
            do throws(BLEError) {
                values[position] = try ServedValue(
                    Characteristic(uuid), initialValue(object))
            } catch { throw DefinitionError(message: error.message) }
        }
        for (position, list) in lists {
            reactions[position] = try list.map { try reaction($0, positions) }
        }
    }

    private func initialValue(_ object: [String: Entry]) -> [UInt8] {
        // Errors in the value are those of the characteristic itself, which is read later.
        (try? DefinitionFile.value(object)) ?? []
    }

    /// Returns the position of the characteristic of a name.
    private static func target(
        _ name: String, _ entry: Entry, _ positions: [BluetoothUUID: [Position]]
    ) throws -> Position {
        let found = positions[try Entry(.string(name), entry.place).characteristic()] ?? []
        guard let first = found.first else { throw entry.mistake("the definition has no such characteristic") }
        guard found.count == 1 else { throw entry.mistake("the definition has several of this characteristic") }
        return first
    }

    private func reaction(
        _ object: [String: Entry], _ positions: [BluetoothUUID: [Position]]
    ) throws -> Reaction {
        var reaction = Reaction()
        if let whole = object["is"] {
            if let beginning = object["begins"] { throw beginning.mistake("\"is\" and \"begins\" cannot be combined") }
            (reaction.pattern, reaction.isWhole) = (try whole.bytes(), true)
        }
        if let beginning = object["begins"] { reaction.pattern = try beginning.bytes() }
        if let error = object["error"] {
            if let changes = object["set"] { throw changes.mistake("a rejected write sets nothing") }
            reaction.error = ATTError(rawValue: UInt8(try error.integer(0x80...0x9F)))
        }
        for (name, entry) in try object["set"]?.entries() ?? [] {
            guard let target = values[try Self.target(name, entry, positions)] else { continue }
            let value = entry.json == .string(Self.written) ? nil : try entry.bytes()
            guard value?.count ?? 0 <= Self.maximumLength else {
                throw entry.mistake("more than \(Self.maximumLength) bytes")
            }
            reaction.changes.append(Change(target: target, value: value))
        }
        return reaction
    }

    /// Returns the definition of a characteristic that has reactions, or that a reaction sets. Nil for any other.
    func definition(at position: Position, _ definition: CharacteristicDefinition) -> CharacteristicDefinition? {
        guard let value = values[position] else { return nil }
        let reactions = reactions[position] ?? []
        return value.definition(
            definition.properties, security: definition.security, descriptors: definition.descriptors
        ) { written, _ in
            guard let reaction = reactions.first(where: { $0.matches(written) }) else { return written }
            if let error = reaction.error { throw error }
            var stored = written
            for change in reaction.changes {
                let new = change.value ?? written
                if change.target === value { stored = new } else { try change.target.set(new) }
            }
            return stored
        }
    }
}
