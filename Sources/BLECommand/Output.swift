import BLE
import FoundationEssentials

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Nobody reads standard output any more.
struct OutputClosed: Error {}

/// Where a command's data and words go.
struct Output: Sendable {
    let json: Bool
    let progress: Progress
    private let isTerminal = isatty(STDOUT_FILENO) != 0

    init(json: Bool) {
        self.json = json
        progress = Progress()
    }

    /// One line of data: `object` for programs, `text` for people.
    func line(_ object: @autoclosure () throws -> JSON, _ text: @autoclosure () -> String) throws {
        if json {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            try write(String(decoding: try encoder.encode(object()), as: UTF8.self))
        } else {
            try write(Self.harmless(text()))
        }
    }

    /// A line for people alone, such as the head of a table.
    func text(_ text: @autoclosure () -> String) throws {
        if !json { try write(text()) }
    }

    /// The terminal that people look at; nil where the output goes elsewhere, or is for programs.
    var terminalSize: (columns: Int, rows: Int)? {
        var size = winsize()
        guard isTerminal, !json, ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 else { return nil }
        // (a terminal that does not know its size says 0)
        return (size.ws_col == 0 ? 80 : Int(size.ws_col), size.ws_row == 0 ? 24 : Int(size.ws_row))
    }

    /// Writes lines in the place of the last `count` of a terminal.
    func rewrite(_ lines: [String], over count: Int) throws {
        let up = count > 0 ? "\u{1B}[\(count)A" : ""
        try write(up + lines.map { "\r\u{1B}[K" + Self.harmless($0) }.joined(separator: "\n") + "\u{1B}[J")
    }

    /// Text without what could command a terminal, colours excepted: names come over the air from anybody.
    private static func harmless(_ text: String) -> String {
        let scalars = Array(text.unicodeScalars)
        var harmless = String.UnicodeScalarView()
        for (index, scalar) in scalars.enumerated() {
            let isControl = scalar.value < 0x20 && scalar != "\n" && scalar != "\t" || 0x7F...0x9F ~= scalar.value
            let isColour =
                scalar == "\u{1B}"
                && scalars[(index + 1)...].prefix(5).drop { "[0123456789".unicodeScalars.contains($0) }.first == "m"
            harmless.append(isControl && !isColour ? "\u{FFFD}" : scalar)
        }
        return String(harmless)
    }

    private func write(_ line: String) throws {
        progress.clear()
        var bytes = Array((line + "\n").utf8)[...]
        while !bytes.isEmpty {
            let written = bytes.withUnsafeBytes { Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            if written < 0, errno == EINTR { continue }
            guard written > 0 else { throw OutputClosed() }
            bytes = bytes.dropFirst(written)
        }
    }

    /// Text in a colour, on a terminal only.
    func paint(_ text: String, _ style: Style) -> String {
        isTerminal ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
    }

    enum Style: Int {
        case bold = 1
        case dim = 2
        case red = 31
        case green = 32
    }

    /// A line for people about what is going on, on standard error.
    func note(_ text: String) {
        progress.clear()
        Progress.write("ble: \(text)\n")
    }

    /// An error, on standard error: what, where, and what to do.
    func complain(_ error: BLEError) {
        progress.clear()
        var text = "ble: \(error.message)"
        if let peripheral = error.peripheral {
            text += " (\(peripheral)" + (error.characteristic.map { ", \($0)" } ?? "") + ")"
        }
        text += "\n"
        if let remedy = error.remedy { text += "     \(remedy)\n" }
        Progress.write(text)
    }
}

/// A JSON value.
enum JSON: Encodable, ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral {
    case null
    case bool(Bool)
    case int(Int)
    case double(Double)
    case string(String)
    case array([JSON])
    case object([String: JSON])

    init(stringLiteral value: String) { self = .string(value) }
    init(booleanLiteral value: Bool) { self = .bool(value) }
    init(integerLiteral value: Int) { self = .int(value) }

    static func optional<Value>(_ value: Value?, _ make: (Value) -> JSON) -> JSON {
        value.map(make) ?? .null
    }

    static func hex(_ bytes: [UInt8]) -> JSON { .string(Hex.string(bytes)) }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .int(let value): try container.encode(value)
        case .double(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}
