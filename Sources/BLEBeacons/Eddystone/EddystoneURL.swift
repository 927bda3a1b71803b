internal import BLE

/// Encodes and decodes the compressed web addresses of Eddystone (github.com/google/eddystone,
/// eddystone-url/README.md).
enum EddystoneURL {
    private static let schemes = ["http://www.", "https://www.", "http://", "https://"]
    /// Expansions with a slash come first, so that the first match is the longest.
    private static let expansions = [
        ".com/", ".org/", ".edu/", ".net/", ".info/", ".biz/", ".gov/", ".com", ".org", ".edu", ".net", ".info", ".biz",
        ".gov",
    ]
    /// The characters that are not compressed.
    private static let characters: ClosedRange<UInt8> = 0x21...0x7E

    /// Decodes an address. `bytes` begins with the scheme.
    static func decode(_ bytes: ArraySlice<UInt8>) throws(AdvertisementFormatError) -> String {
        guard let scheme = bytes.first, Int(scheme) < schemes.count else {
            throw Eddystone.error(.invalidValue(field: "scheme"))
        }
        var url = schemes[Int(scheme)]
        for byte in bytes.dropFirst() {
            if Int(byte) < expansions.count {
                url += expansions[Int(byte)]
            } else if characters.contains(byte) {
                url.unicodeScalars.append(UnicodeScalar(byte))
            } else {
                throw Eddystone.error(.invalidValue(field: "URL"))
            }
        }
        return url
    }

    /// Encodes the scheme and the rest, as short as possible.
    static func encode(_ url: String) throws(AdvertisementFormatError) -> [UInt8] {
        guard let scheme = schemes.firstIndex(where: { url.utf8.starts(with: $0.utf8) }) else {
            throw Eddystone.error(.invalidValue(field: "scheme"))
        }
        var rest = Array(url.utf8)[schemes[scheme].utf8.count...]
        var bytes = [UInt8(scheme)]
        while let byte = rest.first {
            if let expansion = expansions.firstIndex(where: { rest.starts(with: $0.utf8) }) {
                bytes.append(UInt8(expansion))
                rest = rest.dropFirst(expansions[expansion].utf8.count)
            } else {
                guard characters.contains(byte) else { throw Eddystone.error(.invalidValue(field: "URL")) }
                bytes.append(byte)
                rest = rest.dropFirst()
            }
        }
        return bytes
    }
}
