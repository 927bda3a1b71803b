import BLETestSupport
import Foundation
import Testing

@testable import BLECommand

struct CertificateFileTests {
    private static func block(_ bytes: [UInt8], label: String = "CERTIFICATE") -> String {
        let text = Data(bytes).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
        return "-----BEGIN \(label)-----\n\(text)\n-----END \(label)-----\n"
    }

    /// The frame of a certificate of a length.
    private static func sequence(_ count: Int) -> [UInt8] {
        [0x30, 0x82, UInt8(count >> 8), UInt8(count & 0xFF)] + [UInt8](repeating: 7, count: count)
    }

    @Test(arguments: [
        block(sequence(700)), "a comment\r\n\n" + block(sequence(300)).replacing("\n", with: "\r\n"),
        block(sequence(300), label: "PRIVATE KEY") + block(sequence(300)),
        block(sequence(300), label: "TRUSTED CERTIFICATE"),
        block([UInt8](sequence(300).dropLast())) + block(sequence(300)),
    ])
    func `a file with a certificate is one`(text: String) { #expect(CertificateFile.hasCertificate(text)) }

    @Test(arguments: [
        "", "{}", block(sequence(300), label: "PRIVATE KEY"), block([UInt8](sequence(300).dropLast())), block([]),
        block([UInt8](repeating: 0, count: 300)),
        block(sequence(300)).replacing("-----END CERTIFICATE-----\n", with: ""),
        "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n",
    ])
    func `any other file is not`(text: String) { #expect(!CertificateFile.hasCertificate(text)) }
}
