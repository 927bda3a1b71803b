import BLE
import FoundationEssentials

/// A file with the certificates that are trusted, in the form that OpenSSL reads: PEM.
enum CertificateFile {
    /// Returns what is wrong with a file. Nil if it contains a certificate.
    ///
    /// Of the certificate itself, only the frame is checked: its kind and its length.
    static func mistake(in path: String) -> String? {
        guard let file = try? Data(contentsOf: URL(filePath: path)) else {
            return "\(path.harmless) is not a readable file"
        }
        return hasCertificate(String(decoding: file, as: UTF8.self))
            ? nil : "\(path.harmless) contains no certificate (-----BEGIN CERTIFICATE-----)"
    }

    static func hasCertificate(_ text: String) -> Bool {
        var block: String?
        for line in text.split(whereSeparator: \.isNewline) {
            if ["-----BEGIN CERTIFICATE-----", "-----BEGIN TRUSTED CERTIFICATE-----"].contains(line) {
                block = ""
            } else if line.hasPrefix("-----END ") {
                if let block, let data = Data(base64Encoded: block, options: .ignoreUnknownCharacters),
                    isSequence(Array(data))
                {
                    return true
                }
                block = nil
            } else {
                block?.append(contentsOf: line)
            }
        }
        return false
    }

    /// Whether bytes begin with a whole sequence, with a length of two bytes, as each certificate does (X.690, section
    /// 8.1.3.5).
    private static func isSequence(_ bytes: [UInt8]) -> Bool {
        guard bytes.count > 4, bytes[0] == 0x30 else { return false }
        return switch bytes[1] {
        case 0x81: bytes.count >= 3 + Int(bytes[2])
        case 0x82: bytes.count >= 4 + Int(bytes[2]) << 8 + Int(bytes[3])
        default: false
        }
    }
}
