import BLE
import BLETestSupport
import DBus
import Foundation
import Testing

@testable import BLEBlueZ

/// `Docs/Errors.md` describes all errors of the library correctly.
@Suite struct ErrorTableTests {
    private let page: ErrorPage
    private let replies: [[String]]

    init() throws {
        page = try ErrorPage()
        replies = try page.rows("What bluetoothd answers")
    }

    private func check(
        _ error: BLEError, _ code: String, retry: String, remedy: String, _ row: [String],
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(["yes", "no"].contains(retry), "\(row)", sourceLocation: sourceLocation)
        #expect(error.code.rawValue == code, "\(row)", sourceLocation: sourceLocation)
        #expect(error.isRetryable == (retry == "yes"), "\(row)", sourceLocation: sourceLocation)
        #expect((error.remedy ?? "") == remedy, "\(row)", sourceLocation: sourceLocation)
    }

    // MARK: Codes

    /// The codes that a source file declares, each with its comment.
    private struct Declaration {
        let name: String
        let meaning: String
        let isRetryable: Bool
        let mayHaveReachedPeripheral: Bool

        var row: String {
            "| `\(name)` | \(meaning) | \(isRetryable ? "yes" : "no") | \(mayHaveReachedPeripheral ? "yes" : "no") |"
        }

        static func all(in path: String) throws -> [Declaration] {
            let pattern =
                /((?: *\/\/\/ .*\n)+) *public static let (\w+) = (?:BLEError\.)?Code\(\s*"(\w+)"([^)]*)\)/
            return try Checkout.text(path).matches(of: pattern).map { match in
                let (_, comment, constant, name, facts) = match.output
                #expect(constant == name)
                let words = comment.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces).dropFirst(4) }
                // Symbols in full are links in the documentation.
                let meaning = words.joined(separator: " ").replacing("BLE/", with: "").replacing("BLEError/", with: "")
                    .replacing("``", with: "`")
                return Declaration(
                    name: String(name), meaning: meaning, isRetryable: facts.contains("isRetryable: true"),
                    mayHaveReachedPeripheral: facts.contains("mayHaveReachedPeripheral: true"))
            }
        }
    }

    private static let declarations = [
        ("Codes", ["Sources/BLE/Errors/BLEError.swift", "Sources/BLE/Errors/BLEError+Pairing.swift"]),
        ("Codes of recordings", ["Sources/BLERecording/Recorder/BLEError+Recording.swift"]),
        ("Codes of messages and devices", ["Sources/BLEFeatures/Messages/BLEError+Features.swift"]),
        ("Codes of firmware updates", ["Sources/BLEFirmware/Errors/BLEError+Firmware.swift"]),
        ("Codes of transfers", ["Sources/BLETransfers/Errors/BLEError+Transfers.swift"]),
    ]

    /// With `BLE_WRITE_DOCS=1`, writes the tables.
    @Test func `the tables of codes are those of the declarations`() throws {
        var text = page.text
        for (heading, files) in Self.declarations {
            let rows = try files.flatMap { try Declaration.all(in: $0) }.map(\.row)
            let section = try #require(text.firstRange(of: "\n## \(heading)\n"))
            let head = try #require(text[section.upperBound...].firstRange(of: "|---|---|---|---|\n"))
            let end = try #require(text[head.upperBound...].firstRange(of: "\n\n"))
            text.replaceSubrange(head.upperBound..<end.lowerBound, with: rows.joined(separator: "\n"))
        }
        if ProcessInfo.processInfo.environment["BLE_WRITE_DOCS"] == "1" {
            try text.write(to: Checkout.url("Docs/Errors.md"), atomically: true, encoding: .utf8)
        } else {
            #expect(text == page.text, "BLE_WRITE_DOCS=1 writes the tables")
        }
    }

    @Test func `every code in the sources is among those of the tables`() throws {
        let files = Set(Self.declarations.flatMap(\.1))
        var count = 0
        let folder = Checkout.url("Sources").path(percentEncoded: false)
        // The codes of a device's failures are its protocol's.
        let others: Set = ["BLEFirmware/Errors/SMPFailure.swift"]
        for file in try FileManager.default.subpathsOfDirectory(atPath: folder)
        where file.hasSuffix(".swift") && !others.contains(file) {
            let found = try Checkout.text("Sources/\(file)").matches(of: /static let \w+ = (?:BLEError\.)?Code\(/).count
            count += found
            #expect(found == 0 || files.contains("Sources/\(file)"), "\(file)")
        }
        let listed = try page.codes.map { $0[0] }
        #expect(count > 40)
        #expect(listed.count == count)
        #expect(Set(listed).count == count)
    }

    @Test func `the page warns of each retry that may execute an operation twice`() throws {
        let doubtful = try page.codes.filter { $0[2] == "yes" && $0[3] == "yes" }.map { $0[0] }
        let paragraphs = page.text.split(separator: "\n\n")
        let warning = try #require(paragraphs.first { $0.contains("mayHaveReachedPeripheral") })
        let warned = ErrorPage.words(warning).intersection(try page.codes.map { $0[0] })
        #expect(warned == Set(doubtful))
    }

    @Test func `every code has an exit status`() throws {
        let text = try Checkout.text("Sources/BLECommand/Output/ExitStatus.swift")
        for row in try page.codes { #expect(text.contains(try Regex("\\.\(row[0])\\b")), "\(row)") }
    }

    // MARK: bluetoothd

    private static let operations: [BlueZOperation] = [
        .start, .discovery, .connection, .disconnection, .request, .attribute, .adapter, .pairing, .setting, .serving,
    ]

    /// The page's word for an operation.
    private static func word(for operation: BlueZOperation) -> String {
        switch operation {
        case .start: "start"
        case .discovery: "scan"
        case .connection: "connect"
        case .disconnection: "disconnect"
        case .request: "request"
        case .attribute: "attribute"
        case .adapter: "adapter"
        case .pairing: "pair"
        case .setting: "set"
        case .serving: "serve"
        }
    }

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

    /// The row of a table for an operation: one that names it, or else one for all others.
    private func pick(_ rows: [[String]], _ column: Int, for operation: BlueZOperation) -> [String]? {
        let word = Self.word(for: operation)
        let own = rows.first { $0[column].split(separator: ", ").contains(Substring(word)) }
        return own ?? rows.first { $0[column] == "*" }
    }

    /// The row for a reply: one with its text, or else one for any other text. If the name has none of these, its texts
    /// mean the same.
    private func pick(_ name: String, _ text: String, during operation: BlueZOperation) -> [String]? {
        let named = replies.filter { $0[0] == name }
        let others = named.filter { $0[1] == "*" }
        let own = pick(named.filter { $0[1] == text }, 2, for: operation)
        return own ?? pick(others.isEmpty ? named : others, 2, for: operation)
    }

    @Test func `bluetoothd's replies become what the table says, whatever their text and the operation`() throws {
        for name in Set(replies.map { $0[0] }) {
            let texts = Set(replies.filter { $0[0] == name }.map { $0[1] }).union(["*"])
            for text in texts {
                for operation in Self.operations {
                    let row = try #require(pick(name, text, during: operation), "\(name), \(text), \(operation)")
                    try check(row, text, during: operation)
                }
            }
        }
    }

    private func check(_ row: [String], _ text: String, during operation: BlueZOperation) throws {
        var expected = row
        switch row[3] {
        case "as ATT": return checkATT(row, during: operation)
        case "as Failed" where operation == .pairing: expected.replaceSubrange(3..., with: ["failed", "no", "", ""])
        case "as Failed": expected = try #require(pick("Failed", "*", during: operation))
        default: break
        }
        let error = BLEError(.remote(name(row[0]), message(text)), during: operation)
        let context = [Self.word(for: operation), text] + row
        check(error, expected[3], retry: expected[4], remedy: expected[6], context)
        #expect((error.attError.map { "0x\(Hex.string([$0.rawValue]))" } ?? "") == expected[5], "\(context)")
        #expect(error.stackErrorName == name(row[0]), "\(context)")
    }

    /// A reply that contains the peripheral's ATT error is the error for that answer.
    private func checkATT(_ row: [String], during operation: BlueZOperation) {
        for code in UInt8(1)...255 {
            let text = row[1].replacing("…", with: Hex.string([code]))
            let error = BLEError(.remote(name(row[0]), text), during: operation)
            let answer = BLEError(ATTError(rawValue: code))
            let retry = answer.isRetryable ? "yes" : "no"
            check(error, answer.code.rawValue, retry: retry, remedy: answer.remedy ?? "", [text])
            #expect(error.attError == answer.attError, "\(text)")
        }
    }

    @Test func `a reply that is never thrown has no row`() throws {
        let items = page.text.split(separator: "\n- ")
        let item = try #require(items.first { $0.contains("never thrown") })
        let sentence = item.prefix { $0 != ";" }
        let ignored = sentence.matches(of: /`([^`]+)`/).map { String($0.output.1) }
        #expect(ignored.count == 2)
        #expect(replies.filter { ignored.contains($0[1]) } == [])
    }

    @Test func `the page on pairing says the same`() throws {
        let table = try ErrorPage("Docs/Pairing.md").rows("Errors of `pair()`")
        let names = table.filter { $0[0].first?.isUppercase == true }
        #expect(names.count > 4)
        for row in names {
            let error = BLEError(.remote(name(row[0]), "words"), during: .pairing)
            let code = String(row[1].prefix { $0.isLetter })
            #expect(error.code.rawValue == code, "\(row)")
        }
    }

    // MARK: No reply

    /// The page's words for the end of a call.
    private static func words(for kind: DBusError.Kind) -> String {
        switch kind {
        case .remote: "a reply"
        case .unreachable: "the bus cannot be reached"
        case .exhausted: "the process can have no more file descriptors"
        case .disconnected: "the connection to the bus ends"
        case .timedOut: "the deadline passes"
        case .cancelled: "the task is cancelled"
        case .malformed: "the reply is malformed"
        }
    }

    @Test func `a call without a reply ends as the table says`() throws {
        let table = try page.rows("When there is no reply")
        let kinds: [DBusError.Kind] = [.unreachable, .exhausted, .disconnected, .timedOut, .cancelled, .malformed]
        #expect(Set(table.map { $0[0] }) == Set(kinds.map(Self.words(for:))))
        for kind in kinds {
            let rows = table.filter { $0[0] == Self.words(for: kind) }
            for operation in Self.operations {
                let row = try #require(pick(rows, 1, for: operation), "\(kind)")
                let error = BLEError(DBusError(kind, message: "words"), during: operation)
                check(error, row[2], retry: row[3], remedy: row[4], row)
                #expect(error.stackErrorName == nil)
            }
        }
    }

    // MARK: The kernel

    @Test func `a scan that the kernel does not make ends as the table says`() throws {
        func opening(_ numbers: Int32...) -> [BLEError] { numbers.map { ManagementSocket.error($0) } }
        func answers(_ statuses: ManagementStatus?...) -> [BLEError] { statuses.map { BLEError(managementStatus: $0) } }
        let errors = [
            "there are no Bluetooth sockets": opening(SystemError.unknownFamily, SystemError.unknownProtocol),
            "Bluetooth sockets are forbidden": opening(SystemError.notPermitted, SystemError.noAccess),
            "the process or the system can have no more file descriptors":
                opening(SystemError.tooManyInProcess, SystemError.tooManyInSystem),
            "the socket cannot be opened for another reason": opening(SystemError.invalid),
            "the kernel answers *Permission Denied*": answers(.permissionDenied),
            "the kernel answers *Not Supported* or *Unknown Command*": answers(.notSupported, .unknownCommand),
            "the kernel answers *Not Powered*": answers(.notPowered),
            "the kernel answers *Invalid Index*": answers(.invalidIndex),
            "the kernel answers anything else": answers(ManagementStatus(rawValue: 0x03)),
            "the kernel does not answer within 10 s": answers(nil),
            "the socket ends": [ManagementScanner.hasEnded],
        ]
        #expect(BlueZStack.promptly == .seconds(10))
        let table = try page.rows("When the kernel does not scan")
        #expect(Set(table.map { $0[0] }) == Set(errors.keys))
        for row in table {
            for error in errors[row[0]] ?? [] { check(error, row[1], retry: row[2], remedy: row[3], row) }
        }
    }

    // MARK: Ends of links

    @Test func `bluetoothd's reasons become what the table says`() throws {
        let table = try page.rows("Why a link ended")
        #expect(table.count > 5)
        for row in table { #expect(BlueZ.disconnectReason("org.bluez.Reason.\(row[0])").rawValue == row[1], "\(row)") }
    }

    // MARK: The daemon

    /// Where bluetoothd is installed: the words in its program.
    private static let daemon = [
        "/usr/libexec/bluetooth/bluetoothd", "/usr/lib/bluetooth/bluetoothd", "/usr/sbin/bluetoothd",
    ]
    .first { FileManager.default.fileExists(atPath: $0) }

    @Test(.enabled(if: daemon != nil)) func `every error name and reason that bluetoothd can say is listed`() throws {
        let program = try Data(contentsOf: URL(filePath: try #require(Self.daemon)))
        let words = Set(
            program.split { !(0x21...0x7E).contains($0) }.map { String(decoding: $0, as: UTF8.self) })
        let said = words.filter { $0.wholeMatch(of: /org\.bluez\.Error\.[A-Za-z.]+/) != nil }
        #expect(said.count > 20)
        #expect(said.subtracting(replies.map { name($0[0]) }) == [])
        let causes = words.filter { $0.wholeMatch(of: /(le|br)-connection-[a-z-]+/) != nil }
        #expect(causes.count > 20)
        #expect(causes.subtracting(replies.map { message($0[1]) }) == [])
        // From BlueZ 5.83 on.
        let reasons = words.filter { $0.wholeMatch(of: /org\.bluez\.Reason\.[A-Za-z]+/) != nil }
        let listed = try page.rows("Why a link ended").map { "org.bluez.Reason.\($0[0])" }
        #expect(reasons.subtracting(listed) == [])
    }

    // MARK: Peripherals

    @Test func `a peripheral's answers become what the table says, and each is listed once`() throws {
        var seen: [Int] = []
        for row in try page.rows("What a peripheral answers") {
            let ends = row[0].split(separator: "–").compactMap { Int($0.dropFirst(2), radix: 16) }
            for code in try #require(ends.first)...(try #require(ends.last)) {
                seen.append(code)
                let answer = ATTError(rawValue: UInt8(code))
                let error = BLEError(answer)
                check(error, row[2], retry: row[3], remedy: row[4], row)
                #expect(error.attError == answer)
                if ends.count == 1, let name = answer.name { #expect(row[1] == name, "\(row)") }
            }
        }
        #expect(seen == Array(0...255))
    }
}

/// A page of the documentation, and its tables.
struct ErrorPage {
    let text: String
    /// The rows of each table, by the heading above it, without the head, cells without code marks.
    private let tables: [String: [[String]]]

    init(_ path: String = "Docs/Errors.md") throws {
        text = try Checkout.text(path)
        var tables: [String: [[String]]] = [:]
        var heading = ""
        for line in text.split(separator: "\n") {
            if line.hasPrefix("## ") { heading = String(line.dropFirst(3)) }
            guard line.hasPrefix("| "), line.hasSuffix(" |") else { continue }
            let cells = line.dropFirst().dropLast().split(separator: "|", omittingEmptySubsequences: false)
            tables[heading, default: []].append(
                cells.map { $0.trimmingCharacters(in: .whitespaces).replacing("`", with: "") })
        }
        self.tables = tables.mapValues { Array($0.dropFirst()) }
    }

    func rows(_ heading: String) throws -> [[String]] { try #require(tables[heading], "no table: \(heading)") }

    /// The rows of all codes.
    var codes: [[String]] {
        get throws {
            try [
                "Codes", "Codes of recordings", "Codes of messages and devices", "Codes of firmware updates",
                "Codes of transfers",
            ]
            .flatMap { try rows($0) }
        }
    }

    /// The words that are marked as code.
    static func words(_ text: some StringProtocol) -> Set<String> {
        Set(String(text).matches(of: /`(\w+)`/).map { String($0.output.1) })
    }

    /// The words that are marked as code in a row, by its first cell.
    func words(inRow first: String) throws -> Set<String> {
        let lines = text.split(separator: "\n")
        return Self.words(try #require(lines.first { $0.hasPrefix("| \(first) |") }, "no row: \(first)"))
    }
}
