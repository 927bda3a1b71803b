public import BLE

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

extension Devices.Configuration {
    /// Creates a configuration from a JSON file; see ``init(json:features:)``.
    ///
    /// Throws the same errors, and `invalidArgument` for a file that cannot be read.
    public init(file path: String, features: [String: any Feature.Type]) throws(BLEError) {
        let data: Data
        do {
            data = try Data(contentsOf: URL(fileURLWithPath: path))
        } catch {
            throw BLEError(
                .invalidArgument, "\(path) cannot be read: \(FileError.reason(for: error))", isRetryable: false,
                cause: error)
        }
        guard let json = String(validating: data, as: UTF8.self) else {
            throw BLEError(.invalidArgument, "\(path) is not text in UTF-8", isRetryable: false)
        }
        try self.init(json: json, features: features)
    }

    /// Creates a configuration from a JSON object.
    ///
    /// ```json
    /// {
    ///   "service": "00000000-9f34-11ee-8c90-0242ac120002",
    ///   "company": "FFFF",
    ///   "features": ["light", "name"],
    ///   "replyTimeout": 5,
    ///   "encryption": { "mode": "bound", "salt": "…", "info": "…", "command": "0103" }
    /// }
    /// ```
    ///
    /// Missing keys have the defaults of
    /// ``init(service:request:reply:company:features:encryption:replyTimeout:connectTimeout:connectAttempts:staleness:longFrames:reassembles:rejections:)``.
    ///
    /// | key | value |
    /// |---|---|
    /// | `service`, `request`, `reply` | UUIDs, as text |
    /// | `company` | the company identifier, four hexadecimal digits |
    /// | `features` | the names of the features to enable, in order; if missing, all features in order of their names |
    /// | `replyTimeout`, `connectTimeout`, `staleness`, `lateReplyGrace` | seconds, more than 0 |
    /// | `connectAttempts`, `bufferedPackets` | a whole number, 1 or more |
    /// | `writeType` | `withResponse` or `withoutResponse` |
    /// | `longFrames` | `longWrite` or `refuse` |
    /// | `reassembles` | true or false |
    /// | `rejections` | the command of rejections, four hexadecimal digits; if missing, there are none |
    /// | `encryption` | an object, see below; if missing, nothing is encrypted |
    ///
    /// The keys of `encryption` are `mode` (`bound` or `firmware`), `salt` and `info` (text), and `command` (the
    /// command that exchanges keys, four hexadecimal digits).
    ///
    /// If a key occurs twice, its first value is used. Throws `invalidArgument`, naming the key, for an invalid value
    /// and for a key that is not in the table, with its line and the nearest key; `featureNotFound` for an unknown
    /// feature; `commandConflict`.
    ///
    /// - Parameter features: the types of the available features, by their names in the object.
    public init(json: String, features: [String: any Feature.Type]) throws(BLEError) {
        let settings: Settings
        do {
            settings = Settings(try JSONDecoder().decode([String: Setting].self, from: Data(json.utf8)), in: json)
        } catch {
            throw BLEError(
                .invalidArgument, "the configuration is not a JSON object: \(FileError.reason(for: error))",
                isRetryable: false, cause: error)
        }
        try settings.allow([
            "service", "request", "reply", "company", "features", "replyTimeout", "connectTimeout", "connectAttempts",
            "staleness", "longFrames", "reassembles", "encryption", "writeType", "lateReplyGrace", "bufferedPackets",
            "rejections",
        ])
        try self.init(
            service: settings.uuid("service") ?? Self.defaultService,
            request: settings.uuid("request") ?? Self.defaultRequest,
            reply: settings.uuid("reply") ?? Self.defaultReply,
            company: settings.word("company") ?? Self.defaultCompany,
            features: settings.features("features", of: features),
            encryption: settings.object("encryption")?.encryption(),
            replyTimeout: settings.seconds("replyTimeout") ?? .seconds(10),
            connectTimeout: settings.seconds("connectTimeout") ?? .seconds(15),
            connectAttempts: settings.count("connectAttempts") ?? 3,
            staleness: settings.seconds("staleness") ?? .seconds(8),
            longFrames: settings.choice("longFrames", ["longWrite": .longWrite, "refuse": .refuse]) ?? .longWrite,
            reassembles: settings.flag("reassembles") ?? false,
            rejections: settings.word("rejections").map { MessageCommand(rawValue: $0) })
        let types: [String: WriteType] = ["withResponse": .withResponse, "withoutResponse": .withoutResponse]
        writeType = try settings.choice("writeType", types) ?? writeType
        lateReplyGrace = try settings.seconds("lateReplyGrace") ?? lateReplyGrace
        bufferedPackets = try settings.count("bufferedPackets") ?? bufferedPackets
    }
}

/// A value in a configuration.
private enum Setting: Decodable {
    case flag(Bool)
    case number(Double)
    case text(String)
    case texts([String])
    case object([String: Setting])
    /// A value of any other type.
    case other

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let value = try? container.decode(Bool.self) {
            self = .flag(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .text(value)
        } else if let value = try? container.decode([String].self) {
            self = .texts(value)
        } else if let value = try? container.decode([String: Setting].self) {
            self = .object(value)
        } else {
            self = .other
        }
    }
}

/// The values of a JSON object. A value is nil if its key is missing; an invalid value throws.
private struct Settings {
    let values: [String: Setting]
    /// The prefix of the keys in errors.
    let prefix: String
    /// The text of the whole configuration.
    let json: String

    init(_ values: [String: Setting], prefix: String = "", in json: String) {
        (self.values, self.prefix, self.json) = (values, prefix, json)
    }

    /// Throws `invalidArgument` if there is a key that is not in the list.
    func allow(_ keys: [String]) throws(BLEError) {
        guard let key = values.keys.sorted().first(where: { !keys.contains($0) }) else { return }
        let choice = "Choose from: \(keys.map { prefix + $0 }.joined(separator: ", "))."
        throw BLEError(
            .invalidArgument, "there is no configuration key \(prefix)\(key)\(place(of: key))", isRetryable: false,
            remedy: Spelling.nearest(to: key, in: keys).map { "Did you mean \(prefix)\($0)?" } ?? choice)
    }

    /// Returns the line of a key in the text, such as ` (line 3)`. Empty if the key is not found, for example because
    /// of escapes.
    private func place(of key: String) -> String {
        var rest = json[...]
        while let range = rest.firstRange(of: "\"\(key)\"") {
            // A key is followed by a colon; other strings are not.
            if json[range.upperBound...].first(where: { !$0.isWhitespace }) == ":" {
                return " (line \(json[..<range.lowerBound].count { $0.isNewline } + 1))"
            }
            rest = json[range.upperBound...]
        }
        return ""
    }

    func object(_ key: String) throws(BLEError) -> Settings? {
        try value(key, "an object") {
            if case .object(let values) = $0 { Settings(values, prefix: "\(prefix)\(key).", in: json) } else { nil }
        }
    }

    func text(_ key: String) throws(BLEError) -> String? {
        try value(key, "text") { $0.text }
    }

    func uuid(_ key: String) throws(BLEError) -> BluetoothUUID? {
        try value(key, "a UUID") { $0.text.flatMap { BluetoothUUID($0) } }
    }

    func word(_ key: String) throws(BLEError) -> UInt16? {
        try value(key, "four hexadecimal digits") { setting in
            guard let text = setting.text, text.utf8.count == 4, let bytes = Hex.bytes(text), bytes.count == 2 else {
                return nil
            }
            return UInt16(bytes[0]) << 8 | UInt16(bytes[1])
        }
    }

    func seconds(_ key: String) throws(BLEError) -> Duration? {
        try value(key, "a number of seconds, more than 0") { setting in
            guard case .number(let number) = setting, number < 1e9, .seconds(number) > Duration.zero else { return nil }
            return .seconds(number)
        }
    }

    func count(_ key: String) throws(BLEError) -> Int? {
        try value(key, "a whole number, 1 or more") { setting in
            guard case .number(let number) = setting, let count = Int(exactly: number), count >= 1 else { return nil }
            return count
        }
    }

    func flag(_ key: String) throws(BLEError) -> Bool? {
        try value(key, "true or false") { if case .flag(let flag) = $0 { flag } else { nil } }
    }

    func choice<Choice>(_ key: String, _ choices: [String: Choice]) throws(BLEError) -> Choice? {
        try value(key, choices.keys.sorted().joined(separator: " or ")) { $0.text.flatMap { choices[$0] } }
    }

    func features(_ key: String, of known: [String: any Feature.Type]) throws(BLEError) -> [any Feature.Type] {
        let names: [String]? = try value(key, "a list of names") {
            if case .texts(let names) = $0 { names } else { nil }
        }
        var features: [any Feature.Type] = []
        for name in names ?? known.keys.sorted() {
            guard let feature = known[name] else {
                throw BLEError(
                    .featureNotFound, "there is no feature \"\(name)\"", isRetryable: false,
                    remedy: Spelling.nearest(to: name, in: known.keys.sorted()).map { "Did you mean \"\($0)\"?" }
                        ?? "Choose from: \(known.keys.sorted().joined(separator: ", ")).")
            }
            features.append(feature)
        }
        return features
    }

    func encryption() throws(BLEError) -> MessageEncryption {
        try allow(["mode", "salt", "info", "command"])
        let mode: MessageCipher.Mode? = try choice("mode", ["bound": .bound, "firmware": .firmware])
        guard let mode, let salt = try text("salt"), let info = try text("info"), let command = try word("command")
        else {
            throw BLEError(
                .invalidArgument, "encryption needs a mode, a salt, an info and a command", isRetryable: false)
        }
        return MessageEncryption(
            mode: mode, derivation: KeyDerivation(salt: salt, info: info), command: MessageCommand(rawValue: command))
    }

    /// Returns the value of a key. Nil if the key is missing; throws `invalidArgument` for an invalid value.
    private func value<Value>(
        _ key: String, _ wanted: String, _ read: (Setting) -> Value?
    ) throws(BLEError) -> Value? {
        guard let setting = values[key] else { return nil }
        if let value = read(setting) { return value }
        throw BLEError(
            .invalidArgument, "\(prefix)\(key) in the configuration is not \(wanted)\(place(of: key))",
            isRetryable: false)
    }
}

extension Setting {
    fileprivate var text: String? { if case .text(let text) = self { text } else { nil } }
}
