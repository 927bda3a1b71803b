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

    /// Returns the keys by name. Those without a name are `device 1`, `device 2` and so on. Throws `ValidationError`,
    /// which does not contain a key.
    static func read(_ arguments: [String]) async throws -> [String: IdentityResolvingKey] {
        var keys: [String: IdentityResolvingKey] = [:]
        for argument in arguments {
            guard let key = key(argument) else {
                for line in try await lines(of: argument) {
                    guard let key = Self.key(line.text) else {
                        throw ValidationError("\(argument): line \(line.number) is not a key. \(form)")
                    }
                    try add(key, to: &keys)
                }
                continue
            }
            try add(key, to: &keys)
        }
        return keys
    }

    private static let form = "A key has 32 hexadecimal digits, after a name and = if it has a name."

    private static func add(
        _ key: (name: String?, key: IdentityResolvingKey), to keys: inout [String: IdentityResolvingKey]
    ) throws {
        let name = key.name ?? "device \(keys.count + 1)"
        guard keys.updateValue(key.key, forKey: name) == nil else {
            throw ValidationError("Two keys have the name \(name.excerpt).")
        }
    }

    /// Returns the key in a text, and its name. Nil for any other text.
    private static func key(_ text: String) -> (name: String?, key: IdentityResolvingKey)? {
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
