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
        let form = /(?:\[([0-9A-Fa-f:.]+)\]|([^\[\]:\/?@\s]+))(?::([0-9]{1,5}))?\/?(?:\?key-file=(.+))?/
        guard let match = text.wholeMatch(of: form), let host = match.1 ?? match.2,
            let port = match.3.map({ UInt16($0) }) ?? defaultPort, port > 0
        else { return nil }
        return .proxy(host: String(host), port: port, keyFile: match.4.map(String.init))
    }

    /// The name of the radio, by which output refers to it.
    var name: String {
        switch self {
        case .adapter(let id): id
        case .proxy(let host, Self.defaultPort, _): host
        case .proxy(let host, let port, _): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        }
    }

    var isAdapter: Bool {
        if case .adapter = self { true } else { false }
    }

    /// Returns the radio. Throws `ValidationError` for a file that has no key.
    ///
    /// - Parameters:
    ///   - bus: the bus that bluetoothd is on; nil for the system bus.
    ///   - advertisements: where an adapter's advertisements are received from.
    ///   - simulated: the radio in memory that has the adapters. Nil for those of bluetoothd.
    func radio(
        bus: String?, _ advertisements: BlueZCentral.AdvertisementSource, simulated: SimulatedRadio?
    ) async throws -> Radio {
        switch self {
        case .adapter(let id):
            return simulated.map { .simulated($0, adapter: id) }
                ?? .bluez(adapter: id, bus: bus, advertisements: advertisements)
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
                guard let key = try? EncryptionKey(text) else {
                    throw ValidationError("\(path) is not a key: the Base64 form of 32 bytes, as ESPHome writes it.")
                }
                return key
            } catch let error as InputFile.Failure {
                throw ValidationError("\(path) \(error).")
            }
        }
    #endif
}
