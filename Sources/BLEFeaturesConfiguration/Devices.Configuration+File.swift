public import BLE
public import BLEFeatures
public import Configuration
internal import SystemPackage

extension Devices.Configuration {
    /// A kind of device as a JSON file describes it.
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
    /// Throws what ``init(_:features:)`` throws, and `invalidArgument` for a file that cannot be read or is no JSON object.
    public init(file path: String, features: [String: any Feature.Type]) async throws(BLEError) {
        let provider: FileProvider<JSONSnapshot>
        do {
            provider = try await FileProvider<JSONSnapshot>(filePath: FilePath(path))
        } catch {
            throw BLEError(
                .invalidArgument, "\(path) cannot be read as JSON: \(error)", isRetryable: false, cause: error)
        }
        try self.init(ConfigReader(provider: provider), features: features)
    }

    /// A kind of device as a configuration describes it. What is missing is as in
    /// ``init(service:request:reply:company:features:encryption:replyTimeout:connectTimeout:connectAttempts:staleness:longFrames:reassembles:)``.
    ///
    /// | key | value |
    /// |---|---|
    /// | `service`, `request`, `reply` | UUIDs, as text |
    /// | `company` | the company identifier, four hexadecimal digits |
    /// | `features` | the names of the features to enable, in their order; all, by name, when missing |
    /// | `replyTimeout`, `connectTimeout`, `staleness` | seconds, more than 0 |
    /// | `connectAttempts` | a number, 1 or more |
    /// | `longFrames` | `longWrite` or `refuse` |
    /// | `reassembles` | true or false |
    /// | `encryption.mode` | `bound` or `firmware`; without it nothing is encrypted |
    /// | `encryption.salt`, `encryption.info` | text |
    /// | `encryption.command` | the command that exchanges keys, four hexadecimal digits |
    ///
    /// Throws `invalidArgument`, naming the key, for a value that is not as it should be; `featureNotFound` for a feature without
    /// a type; `commandConflict`.
    ///
    /// - Parameter features: the types of the features that there are, by the names that the configuration uses.
    public init(_ config: ConfigReader, features: [String: any Feature.Type]) throws(BLEError) {
        let settings = Settings(config: config)
        try self.init(
            service: settings.uuid("service") ?? Self.defaultService,
            request: settings.uuid("request") ?? Self.defaultRequest,
            reply: settings.uuid("reply") ?? Self.defaultReply,
            company: settings.word("company") ?? Self.defaultCompany,
            features: settings.features("features", of: features),
            encryption: settings.encryption(),
            replyTimeout: settings.seconds("replyTimeout") ?? .seconds(10),
            connectTimeout: settings.seconds("connectTimeout") ?? .seconds(15),
            connectAttempts: settings.count("connectAttempts") ?? 3,
            staleness: settings.seconds("staleness") ?? .seconds(8),
            longFrames: settings.choice("longFrames", ["longWrite": .longWrite, "refuse": .refuse]) ?? .longWrite,
            reassembles: settings.flag("reassembles") ?? false)
    }
}

/// Values of a configuration: nil when they are missing, an error when they are not what they should be.
private struct Settings {
    let config: ConfigReader

    func text(_ key: String) throws(BLEError) -> String? {
        try value(key, "text", config.string(forKey: ConfigKey(key)))
    }

    func uuid(_ key: String) throws(BLEError) -> BluetoothUUID? {
        guard let text = try text(key) else { return nil }
        return try value(key, "a UUID", BluetoothUUID(text))
    }

    func word(_ key: String) throws(BLEError) -> UInt16? {
        guard let text = try text(key) else { return nil }
        let bytes = Hex.bytes(text)
        return try value(
            key, "four hexadecimal digits", bytes?.count == 2 ? bytes.map { UInt16($0[0]) << 8 | UInt16($0[1]) } : nil)
    }

    func seconds(_ key: String) throws(BLEError) -> Duration? {
        let number = config.double(forKey: ConfigKey(key)) ?? config.int(forKey: ConfigKey(key)).map(Double.init)
        let seconds = number.flatMap { $0 > 0 && $0 < 1e9 ? Duration.seconds($0) : nil }
        return try value(key, "a number of seconds, more than 0", seconds)
    }

    func count(_ key: String) throws(BLEError) -> Int? {
        let count = config.int(forKey: ConfigKey(key)).flatMap { $0 >= 1 ? $0 : nil }
        return try value(key, "a number, 1 or more", count)
    }

    func flag(_ key: String) throws(BLEError) -> Bool? {
        try value(key, "true or false", config.bool(forKey: ConfigKey(key)))
    }

    func choice<Choice>(_ key: String, _ choices: [String: Choice]) throws(BLEError) -> Choice? {
        guard let text = try text(key) else { return nil }
        return try value(key, choices.keys.sorted().joined(separator: " or "), choices[text])
    }

    func features(_ key: String, of known: [String: any Feature.Type]) throws(BLEError) -> [any Feature.Type] {
        // (an empty list is a list of any type)
        let names = try value(key, "a list of names", config.stringArray(forKey: ConfigKey(key)))
        var features: [any Feature.Type] = []
        for name in names ?? known.keys.sorted() {
            guard let feature = known[name] else {
                throw BLEError(
                    .featureNotFound, "there is no feature \"\(name)\"", isRetryable: false,
                    remedy: "Choose from: \(known.keys.sorted().joined(separator: ", ")).")
            }
            features.append(feature)
        }
        return features
    }

    func encryption() throws(BLEError) -> MessageEncryption? {
        let mode: MessageCipher.Mode? = try choice("encryption.mode", ["bound": .bound, "firmware": .firmware])
        guard let mode else {
            for key in ["salt", "info", "command"] where isThere(ConfigKey("encryption.\(key)")) {
                throw BLEError(.invalidArgument, "encryption needs a mode, too: bound or firmware", isRetryable: false)
            }
            return nil
        }
        guard let salt = try text("encryption.salt"), let info = try text("encryption.info"),
            let command = try word("encryption.command")
        else {
            throw BLEError(
                .invalidArgument, "encryption needs a salt, an info and a command, too", isRetryable: false)
        }
        return MessageEncryption(
            mode: mode, derivation: KeyDerivation(salt: salt, info: info), command: MessageCommand(rawValue: command))
    }

    /// The value; nil when the key is missing, an error when it is there with something else.
    private func value<Value>(_ key: String, _ wanted: String, _ value: Value?) throws(BLEError) -> Value? {
        if let value { return value }
        guard isThere(ConfigKey(key)) else { return nil }
        throw BLEError(.invalidArgument, "\(key) in the configuration is not \(wanted)", isRetryable: false)
    }

    private func isThere(_ key: ConfigKey) -> Bool {
        config.string(forKey: key) != nil || config.double(forKey: key) != nil || config.int(forKey: key) != nil
            || config.bool(forKey: key) != nil || config.stringArray(forKey: key) != nil
            || config.doubleArray(forKey: key) != nil || config.intArray(forKey: key) != nil
            || config.boolArray(forKey: key) != nil
    }
}
