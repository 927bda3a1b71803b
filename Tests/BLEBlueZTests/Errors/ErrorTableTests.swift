import BLE
import BLETestSupport
import DBus
import Foundation
import Testing
@testable import BLEBlueZ

/// `Docs/Errors.md` says what the library does, and all of it.
@Suite struct ErrorTableTests {
    private let rows: [String: [[String]]]

    init() throws { rows = try Self.tables(in: "Docs/Errors.md") }

    /// The rows of each table, by the heading above it, without the head, cells without code marks.
    private static func tables(in path: String) throws -> [String: [[String]]] {
        var tables: [String: [[String]]] = [:]
        var heading = ""
        for line in try Checkout.text(path).split(separator: "\n") {
            if line.hasPrefix("## ") { heading = String(line.dropFirst(3)) }
            guard line.hasPrefix("| "), line.hasSuffix(" |") else { continue }
            let cells = line.dropFirst().dropLast().split(separator: "|", omittingEmptySubsequences: false)
            tables[heading, default: []].append(
                cells.map { $0.trimmingCharacters(in: .whitespaces).replacing("`", with: "") })
        }
        return tables.mapValues { Array($0.dropFirst()) }
    }

    private func check(_ error: BLEError, _ code: String, retry: String, remedy: String, _ row: [String]) {
        #expect(error.code.rawValue == code, "\(row)")
        #expect(error.isRetryable == (retry == "yes"), "\(row)")
        #expect((error.remedy ?? "") == remedy, "\(row)")
        #expect(["yes", "no"].contains(retry), "\(row)")
    }

    // MARK: Codes

    @Test func `every code is listed, with what is usual for it`() throws {
        let listed = try #require(rows["Codes"])
        let declared = try Checkout.text("Sources/BLE/Errors/BLEError.swift").matches(
            of: /static let \w+ = Code\(rawValue: "(\w+)"\)/
        )
        .map { String($0.output.1) }
        #expect(declared.count > 20)
        #expect(Set(listed.map { $0[0] }) == Set(declared))
        #expect(listed.count == declared.count)
        for row in listed {
            #expect(BLEError(BLEError.Code(rawValue: row[0]), "").isRetryable == (row[2] == "yes"), "\(row)")
        }
    }

    @Test func `every code has an exit status`() throws {
        let text = try Checkout.text("Sources/BLECommand/Output/ExitStatus.swift")
        for row in try #require(rows["Codes"]) {
            #expect(text.contains(try Regex("\\.\(row[0])\\b")), "\(row)")
        }
    }

    // MARK: bluetoothd

    private static let operations: [String: BlueZOperation] = [
        "start": .start, "scan": .discovery, "connect": .connection, "disconnect": .disconnection,
        "attribute": .attribute, "adapter": .adapter,
    ]

    private func name(_ cell: String) -> String {
        cell.hasPrefix("DBus.") ? "org.freedesktop.DBus.Error.\(cell.dropFirst(5))" : "org.bluez.Error.\(cell)"
    }

    private func message(_ cell: String) -> String {
        if cell == "*" { return "something else" }
        for prefix in ["le-", "br-"] where cell.hasPrefix(prefix) {
            return prefix.dropLast() + "-connection-" + cell.dropFirst(3)
        }
        return cell
    }

    @Test func `bluetoothd's answers become what the table says`() throws {
        let listed = try #require(rows["What bluetoothd answers"])
        for row in listed {
            let others = listed.filter { $0[0] == row[0] && $0[1] == row[1] && $0[2] != "*" }
            let elsewhere = Set(others.flatMap { $0[2].split(separator: ", ").map(String.init) })
            let operations =
                row[2] == "*" ? Self.operations.keys.filter { !elsewhere.contains($0) } : Array(named(in: row))
            for operation in operations {
                let error = BLEError(
                    .remote(name(row[0]), message(row[1])), during: try #require(Self.operations[operation]))
                let expected = row[3] == "as Failed" ? try failure(during: operation, listed) : row
                check(error, expected[3], retry: expected[4], remedy: expected[6], row)
                #expect((error.attError.map { "0x\(Hex.string([$0.rawValue]))" } ?? "") == row[5], "\(row)")
                #expect(error.stackErrorName == name(row[0]))
            }
        }
    }

    /// The row for a `Failed` that says nothing known.
    private func failure(during operation: String, _ listed: [[String]]) throws -> [String] {
        try #require(listed.first { $0[0] == "Failed" && $0[1] == "*" && named(in: $0).contains(operation) })
    }

    private func named(in row: [String]) -> [String] { row[2].split(separator: ", ").map(String.init) }

    @Test func `each name is listed for every operation`() throws {
        let listed = try #require(rows["What bluetoothd answers"])
        for name in Set(listed.map { $0[0] }) {
            let operations = Set(listed.filter { $0[0] == name }.flatMap { named(in: $0) })
            #expect(operations.contains("*") || operations == Set(Self.operations.keys), "\(name)")
        }
    }

    /// Where bluetoothd is installed: the words in its program.
    private static let daemon = [
        "/usr/libexec/bluetooth/bluetoothd", "/usr/lib/bluetooth/bluetoothd", "/usr/sbin/bluetoothd",
    ]
    .first { FileManager.default.fileExists(atPath: $0) }

    @Test(.enabled(if: daemon != nil)) func `every error name and reason that bluetoothd can say is listed`() throws {
        let program = try Data(contentsOf: URL(filePath: try #require(Self.daemon)))
        let words = Set(
            program.split { !(0x21...0x7E).contains($0) }.map { String(decoding: $0, as: UTF8.self) })
        let listed = try #require(rows["What bluetoothd answers"])
        let names = Set(listed.map { name($0[0]) })
        let said = words.filter { $0.wholeMatch(of: /org\.bluez\.Error\.[A-Za-z.]+/) != nil }
        #expect(said.count > 20)
        #expect(said.subtracting(names) == [])
        let reasons = words.filter { $0.wholeMatch(of: /(le|br)-connection-[a-z-]+/) != nil }
        #expect(reasons.count > 20)
        #expect(reasons.subtracting(listed.map { message($0[1]) }) == [])
    }

    // MARK: Peripherals

    @Test func `a peripheral's answers become what the table says, and each is listed once`() throws {
        var seen: [Int] = []
        for row in try #require(rows["What a peripheral answers"]) {
            let ends = row[0].split(separator: "–").compactMap { Int($0.dropFirst(2), radix: 16) }
            for code in try #require(ends.first)...(try #require(ends.last)) {
                seen.append(code)
                let error = BLEError(ATTError(rawValue: UInt8(code)))
                check(error, row[2], retry: row[3], remedy: row[4], row)
            }
        }
        #expect(seen == Array(0...255))
    }

    // MARK: Other libraries

    @Test func `what other libraries tell apart has codes here`() throws {
        let codes = Set(try #require(rows["Codes"]).map { $0[0] })
        let details: Set = ["missingUUIDs", "cause", "attError", "characteristic"]
        for row in try #require(rows["Coming from another library"]) {
            let named = try Checkout.text("Docs/Errors.md").split(separator: "\n").first {
                $0.hasPrefix("| \(row[0]) |")
            }
            let words = try #require(named).matches(of: /`(\w+)`/).map { String($0.output.1) }
            #expect(!words.filter(codes.contains).isEmpty, "\(row)")
            #expect(Set(words).subtracting(codes).subtracting(details) == [], "\(row)")
        }
    }
}
