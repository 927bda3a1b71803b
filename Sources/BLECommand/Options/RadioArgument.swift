import ArgumentParser
import BLE
import BLEBlueZ
import BLESimulation
import FoundationEssentials

#if DeviceCommands
    import BLEESPHome
#endif

/// A radio on the command line: an adapter such as `hci1`, or a Bluetooth proxy of ESPHome such as
/// `esphome://attic.local?key-file=PATH`.
enum RadioArgument: Hashable, Sendable {
    case adapter(String)
    /// The key is in a file, because other users can read the arguments of a program.
    case proxy(host: String, port: UInt16, keyFile: String?)

    private static let scheme = "esphome://"
    private static let defaultPort: UInt16 = 6053
    /// The maximum size of a file with a key, in bytes: 44 characters, and white space.
    private static let keyLimit = 128

    /// Throws `ValidationError` with the forms that a radio may have.
    init(named text: String) throws {
        if text.hasPrefix(Self.scheme) {
            guard let proxy = Self.proxy(text.dropFirst(Self.scheme.count)) else { throw Self.unknown(text) }
            self = proxy
        } else {
            guard text.wholeMatch(of: /hci[0-9]{1,5}/) != nil else { throw Self.unknown(text) }
            self = .adapter(text)
        }
    }

    private static func unknown(_ text: String) -> ValidationError {
        ValidationError(
            "\"\(text.excerpt)\" is not a radio: an adapter such as hci1, or a proxy such as "
                + "esphome://10.0.0.7?key-file=PATH.")
    }

    /// Reads `HOST[:PORT][?key-file=PATH]`. An address with colons is in brackets.
    private static func proxy(_ text: Substring) -> RadioArgument? {
        let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        var (place, keyFile) = (parts[0], String?.none)
        if parts.count == 2 {
            let option = parts[1].split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard option.count == 2, option[0] == "key-file", !option[1].isEmpty else { return nil }
            keyFile = String(option[1])
        }
        if place.hasSuffix("/") { place = place.dropLast() }
        var (host, port) = (place, defaultPort)
        if place.hasPrefix("["), let end = place.firstIndex(of: "]") {
            host = place[place.index(after: place.startIndex)..<end]
            let rest = place[place.index(after: end)...]
            guard rest.isEmpty || rest.hasPrefix(":") else { return nil }
            place = rest
        }
        if let colon = place.lastIndex(of: ":") {
            guard let number = UInt16(place[place.index(after: colon)...]), number > 0 else { return nil }
            port = number
            if host == place { host = place[..<colon] }
            guard host.startIndex != place.startIndex || !host.contains(":") else { return nil }
        }
        guard !host.isEmpty, !host.contains(where: { $0.isWhitespace || $0 == "/" || $0 == "@" }) else { return nil }
        return .proxy(host: String(host), port: port, keyFile: keyFile)
    }

    /// The name of the radio, by which output refers to it.
    var name: String {
        switch self {
        case .adapter(let id): id
        case .proxy(let host, Self.defaultPort, _): host
        case .proxy(let host, let port, _): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        }
    }

    /// Returns the radio. Throws `ValidationError` for a file that has no key.
    ///
    /// - Parameters:
    ///   - bus: the bus that bluetoothd is on; nil for the system bus.
    ///   - simulated: the radio in memory that has the adapters. Nil for those of bluetoothd.
    func radio(bus: String?, simulated: SimulatedRadio?) async throws -> Radio {
        switch self {
        case .adapter(let id):
            return simulated.map { .simulated($0, adapter: id) } ?? .bluez(adapter: id, bus: bus)
        case .proxy(let host, let port, let keyFile):
            #if DeviceCommands
                var key: EncryptionKey?
                if let keyFile { key = try await Self.key(keyFile) }
                return .esphome(host, port: port, key: key, name: name)
            #else
                _ = (host, port, keyFile)
                throw ValidationError("\(name): this program was built without the trait DeviceCommands.")
            #endif
        }
    }

    #if DeviceCommands
        /// Reads a key from a file. Throws `ValidationError`.
        static func key(_ path: String) async throws -> EncryptionKey {
            do {
                let bytes = try await InputFile.read(path, limit: keyLimit)
                let text = String(decoding: bytes, as: UTF8.self).filter { !$0.isWhitespace }
                guard let key = EncryptionKey(text) else {
                    throw ValidationError("\(path) is not a key: the Base64 form of 32 bytes, as ESPHome writes it.")
                }
                return key
            } catch let error as InputFile.Failure {
                throw ValidationError("\(path) \(error).")
            }
        }
    #endif
}
