import ArgumentParser
import BLE

/// The keys of devices with private addresses that the command line has, or files that it names.
///
/// A key is 32 hexadecimal digits, alone or with a name: `watch=ec0234a357c8ad05341010a60a397d9b`. A file has one in
/// each line; empty lines and those that begin with `#` are skipped. Other users of the machine see the arguments of
/// its programs, so a file is the better place.
enum IdentityKeys {
    /// The size of the largest file, in bytes.
    private static let limit = 1 << 20

    /// A key with its name. Nil for a key without one.
    typealias Key = (name: String?, key: IdentityResolvingKey)

    /// Returns the keys, in order. Throws `ValidationError`, which does not contain a key.
    static func read(_ arguments: [String]) async throws -> [Key] {
        var keys: [Key] = []
        for argument in arguments {
            if let key = key(argument) {
                keys.append(key)
                continue
            }
            for line in try await lines(of: argument) {
                guard let key = key(line.text) else {
                    throw ValidationError("\(argument): line \(line.number) is not a key. \(form)")
                }
                keys.append(key)
            }
        }
        var names: Set<String> = []
        for case let name? in keys.map(\.name) where !names.insert(name).inserted {
            throw ValidationError("Two keys have the name \(name.excerpt).")
        }
        return keys
    }

    private static let form = "A key has 32 hexadecimal digits, after a name and = if it has a name."

    /// Adds keys to those that are known by name. Returns their names: that of a key without one is the one by which it
    /// is known, otherwise the first of `device 1`, `device 2` and so on that is not in use.
    static func add(_ keys: [Key], to known: inout [String: IdentityResolvingKey]) -> Set<String> {
        var names: Set<String> = []
        for case (let name?, let key) in keys {
            known[name] = key
            names.insert(name)
        }
        var namesByKey = Dictionary(known.map { ($0.value, $0.key) }, uniquingKeysWith: min)
        var number = 1
        for case (nil, let key) in keys {
            while known["device \(number)"] != nil { number += 1 }
            let name = namesByKey[key] ?? "device \(number)"
            (known[name], namesByKey[key]) = (key, name)
            names.insert(name)
        }
        return names
    }

    /// Returns the key in a text, and its name. Nil for any other text.
    private static func key(_ text: String) -> Key? {
        let parts = text.split(separator: "=", omittingEmptySubsequences: false)
        guard let digits = parts.last, digits.utf8.count == 32, let bytes = Hex.bytes(String(digits)),
            let key = IdentityResolvingKey(bytes)
        else { return nil }
        let name = parts.dropLast().joined(separator: "=")
        guard parts.count == 1 || !name.isEmpty else { return nil }
        return (parts.count == 1 ? nil : name, key)
    }

    private static func lines(of path: String) async throws -> [(number: Int, text: String)] {
        let bytes: [UInt8]
        do {
            bytes = try await InputFile.read(path, limit: limit)
        } catch is InputFile.Failure {
            // The argument may be a key with a digit too many.
            throw ValidationError("A value of --irk is neither a key nor a file that can be read. \(form)")
        }
        return String(decoding: bytes, as: UTF8.self).split(
            omittingEmptySubsequences: false, whereSeparator: \.isNewline
        )
        .enumerated()
        .map { (number: $0.offset + 1, text: String($0.element)) }
        .filter { !$0.text.isEmpty && !$0.text.hasPrefix("#") }
    }
}

extension Central {
    /// Adds keys to the identities, in one step: another scan of a shell may add some at the same time. Returns the
    /// names of these.
    func addIdentities(_ keys: [IdentityKeys.Key]) throws(BLEError) -> Set<String> {
        var all = identities
        let names = IdentityKeys.add(keys, to: &all)
        try setIdentities(all)
        return names
    }
}
