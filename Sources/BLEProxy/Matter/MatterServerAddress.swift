public import BLE

/// Where a Matter server accepts Bluetooth proxies, as `ws://host:port/path`.
public struct MatterServerAddress: Hashable, Sendable {
    /// The name or the address of the host. An address of IPv6 has no brackets.
    public let host: String
    /// The port. 80 if the text names none, as in all URLs of WebSockets; a Matter server listens at 5580.
    public let port: UInt16
    /// The path, `/ble` if the text names none, with the query if there is one.
    public let path: String

    /// The maximum length of the text, in bytes.
    private static let longest = 2048

    /// Reads a URL.
    ///
    /// Throws `notSupported` for `wss://`, and `invalidArgument` for what is not such a URL.
    public init(_ text: String) throws(BLEError) {
        // Without its query and its user, which may be secrets.
        let address = text.prefix { $0 != "?" }
        let shown = (address.lastIndex(of: "@").map { address[$0...] } ?? address).prefix(100)
        let invalid = BLEError(
            .invalidArgument, "“\(shown)” is not the URL of a Matter server",
            isRetryable: false,
            remedy: "Such a URL is ws://homeassistant.local:5580/ble.")
        guard text.utf8.count <= Self.longest, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw invalid
        }
        let scheme = text.prefix { $0 != ":" }.lowercased()
        guard scheme != "wss" else {
            throw BLEError(
                .notSupported, "a Matter server is not reached over TLS (wss://)", isRetryable: false,
                remedy: "Use ws:// within a network that you trust, or a tunnel to the server.")
        }
        guard scheme == "ws", text.dropFirst(2).hasPrefix("://") else { throw invalid }
        let rest = text.dropFirst(5)
        let place = rest.prefix { $0 != "/" && $0 != "?" }
        let tail = rest.dropFirst(place.count)
        guard !rest.contains("#"), !place.contains("@") else { throw invalid }
        var portText: Substring?
        if place.hasPrefix("[") {
            guard let end = place.firstIndex(of: "]") else { throw invalid }
            host = String(place[place.index(after: place.startIndex)..<end])
            let after = place[place.index(after: end)...]
            guard after.isEmpty || after.hasPrefix(":"), host.contains(":") else { throw invalid }
            if !after.isEmpty { portText = after.dropFirst() }
        } else {
            let parts = place.split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count <= 2 else { throw invalid }
            host = String(parts[0])
            if parts.count == 2 { portText = parts[1] }
        }
        guard !host.isEmpty else { throw invalid }
        if let portText {
            guard portText.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt16(portText), number > 0
            else { throw invalid }
            port = number
        } else {
            port = 80
        }
        path =
            switch tail {
            case "", "/": "/ble"
            case _ where tail.hasPrefix("?"): "/ble\(tail)"
            default: String(tail)
            }
    }

    /// The host and the port, as the header `Host` has them.
    var authority: String { "\(host.contains(":") ? "[\(host)]" : host):\(port)" }
}

extension MatterServerAddress: CustomStringConvertible {
    /// The URL, without its query, which may have a secret.
    public var description: String { "ws://\(authority)\(path.prefix { $0 != "?" })" }
}
