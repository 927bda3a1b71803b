import BLE
import BLETestSupport
import Foundation
import Testing

@Suite struct TypedValuesTests {
    private static let sources = Checkout.url("Sources/BLEProfiles")

    @Test func `every key with a typed value is in the list`() throws {
        let files = try #require(FileManager.default.enumerator(at: Self.sources, includingPropertiesForKeys: nil))
        var declared: [BluetoothUUID: String] = [:]
        for case let file as URL in files where file.pathExtension == "swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            for match in text.matches(of: /static var (\w+): Self \{[^}]*0x([0-9A-F]{4})\b[^}]*\}/)
            where text.contains("extension Characteristic") {
                let number = try #require(UInt32(match.output.2, radix: 16))
                declared[BluetoothUUID(number)] = String(match.output.1)
            }
        }
        #expect(declared.count > 100)
        let missing = declared.filter { uuid, _ in !TypedValues.all.contains { $0.uuid == uuid } }
        #expect(missing.values.sorted() == [])
    }
}
