import BLE
import BLEFeatures
import BLETestSupport
import Foundation
import Testing

/// `Docs/Errors.md` has every code of this module.
@Suite struct ErrorCodeTests {
    static let codes: [BLEError.Code] = [
        .commandTimedOut, .invalidMessage, .invalidMessageType, .encryptionFailed, .featureNotFound, .commandConflict,
        .storageFailed,
    ]

    @Test func `each code has its row, and there is no other`() throws {
        let page = try Checkout.text("Docs/Errors.md")
        let section = page.split(separator: "## ").first { $0.hasPrefix("Codes of messages and devices") }
        let rows = try #require(section).split(separator: "\n").filter { $0.hasPrefix("| `") }
        #expect(rows.map { $0.dropFirst(3).prefix { $0 != "`" } } == Self.codes.map { Substring($0.rawValue) })
    }

    @Test func `each code in the sources is in the list`() throws {
        let source = try Checkout.text("Sources/BLEFeatures/Messages/BLEError+Features.swift")
        let names = source.split(separator: "\n").filter { $0.contains("static let") }
            .compactMap { $0.split(separator: " ").dropFirst(3).first }
        #expect(names == Self.codes.map { Substring($0.rawValue) })
    }
}
