import BLE
import BLEDefinitions
import FoundationEssentials
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The error when the reader of standard output is gone.
struct OutputClosed: Error {}

/// Writes a command's data to standard output, and its messages to standard error.
struct Output: Sendable {
    let json: Bool
    let progress: Progress
    /// The peripheral whose id each line of JSON contains.
    private var peripheral: Peripheral.ID?
    private let isTerminal = isatty(STDOUT_FILENO) != 0 && !Terminal.isDumb
    private let screen = Screen()
    /// Takes each line, in place of standard output and standard error.
    private let take: (@Sendable (String) -> Void)?

    /// The area at the end of the terminal that is rewritten.
    private final class Screen: Sendable {
        let area = Mutex(TerminalArea())
    }

    init(json: Bool) {
        self.json = json
        progress = Progress(isSilent: json)
        take = nil
    }

    /// Creates an output that passes on each line of JSON, also those for standard error.
    init(to take: @escaping @Sendable (String) -> Void) {
        json = true
        progress = Progress(isSilent: true)
        self.take = take
    }

    /// Returns an output whose lines of JSON contain the peripheral's id.
    func about(_ peripheral: Peripheral) -> Output {
        var output = self
        output.peripheral = peripheral.id
        return output
    }

    /// Writes a line of data: `object` as JSON for programs, with the time, or `text` for people.
    func line(_ object: @autoclosure () throws -> JSON, _ text: @autoclosure () -> String) throws {
        if json {
            var line = try object()
            if case .object(var keys) = line {
                Self.stamp(&keys)
                if let peripheral, keys["id"] == nil { keys["id"] = .string(peripheral.rawValue) }
                line = .object(keys)
            }
            try write(line.text)
        } else {
            try write(Self.harmless(text()))
        }
    }

    /// The version of the JSON format, as in Docs/Output.schema.json.
    private static let version = 1

    /// Adds the keys that all lines have. A line about an earlier time already has that.
    private static func stamp(_ keys: inout [String: JSON]) {
        keys["version"] = .int(version)
        keys["time"] = keys["time"] ?? .string(time(.now))
    }

    /// Returns a time in UTC, with milliseconds, such as `2026-03-01T12:00:00.000Z`.
    static func time(_ date: Date) -> String {
        date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    /// Writes a line for people only, such as the header of a table.
    func text(_ text: @autoclosure () -> String) throws {
        if !json { try write(text()) }
    }

    /// The size of the terminal. Nil if the output goes elsewhere or is JSON.
    var terminalSize: (columns: Int, rows: Int)? {
        isTerminal && !json ? Terminal.size(of: STDOUT_FILENO) : nil
    }

    /// Writes lines in place of the lines of the last call. Throws `OutputClosed` if the terminal is gone.
    func rewrite(_ lines: [String]) throws {
        guard let columns = terminalSize?.columns else { throw OutputClosed() }
        try screen.area.withLock { area in
            try write(area.replace(with: lines.map(Self.harmless), columns: columns), terminator: "")
        }
    }

    /// Leaves the lines of the last call of ``rewrite(_:)`` where they are: the next ones are written at the cursor.
    func leaveLines() { screen.area.withLock { $0 = TerminalArea() } }

    /// Returns text whose only control characters are line breaks and this program's colors. Foreign text has already
    /// been made safe.
    private static func harmless(_ text: String) -> String {
        var (harmless, rest) = ("", text.unicodeScalars[...])
        while let scalar = rest.first {
            if let own = Style.sequences.first(where: { rest.starts(with: $0.unicodeScalars) }) {
                harmless += own
                rest = rest.dropFirst(own.unicodeScalars.count)
            } else {
                harmless += scalar == "\n" ? "\n" : String(scalar).harmless
                rest = rest.dropFirst()
            }
        }
        return harmless
    }

    private func write(_ text: String, terminator: String = "\n") throws {
        if let take { return take(text) }
        try bytes(Array((text + terminator).utf8))
    }

    /// Writes bytes unchanged.
    func bytes(_ bytes: [UInt8]) throws {
        progress.clear()
        var bytes = bytes[...]
        while !bytes.isEmpty {
            let written = bytes.withUnsafeBytes { Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            if written < 0, errno == EINTR { continue }
            guard written > 0 else { throw OutputClosed() }
            bytes = bytes.dropFirst(written)
        }
    }

    /// Writes a line of JSON to standard error, with the time.
    private func complain(_ object: JSON) {
        guard case .object(var keys) = object else { return }
        Self.stamp(&keys)
        let line = JSON.object(keys).text
        if let take { take(line) } else { Progress.write(line + "\n") }
    }

    /// Returns the text in a color, but only on a terminal that has colors, and not if `NO_COLOR` is set
    /// (no-color.org).
    func paint(_ text: String, _ style: Style) -> String {
        isTerminal && Terminal.hasColors ? style.sequence + text + Style.plain.sequence : text
    }

    enum Style: Int, CaseIterable {
        case plain = 0
        case bold = 1
        case dim = 2
        case inverse = 7
        case red = 31
        case green = 32

        fileprivate var sequence: String { "\u{1B}[\(rawValue)m" }
        fileprivate static let sequences = allCases.map(\.sequence)
    }

    /// Writes a message for people to standard error, above the lines that are rewritten.
    func note(_ text: String) {
        progress.clear()
        guard !json else { return complain(.object(["note": .string(text)])) }
        let line = Terminal.fitting("ble: \(text.harmless)", indent: 5) + "\n"
        guard Progress.isTerminal, let columns = terminalSize?.columns else { return Progress.write(line) }
        screen.area.withLock { area in
            // If the output is closed, the next value reports it.
            try? write(area.erasure(columns: columns), terminator: "")
            Progress.write(line)
            try? write(area.drawing, terminator: "")
        }
    }

    /// Writes a pairing prompt to standard error. The text is written unchanged, with or without the end of the line.
    func prompt(_ text: String) {
        guard json else { return Progress.write(text) }
        let words = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        if !words.isEmpty { complain(.object(["prompt": .string(words)])) }
    }

    /// Writes an error to standard error, with its location and remedy.
    func complain(_ error: BLEError) {
        progress.clear()
        if json {
            let details = try? JSON(encoding: error)
            return complain(
                .object([
                    "error": details ?? .string(error.message), "status": .int(Int(ExitStatus.status(of: error.code))),
                ]))
        }
        var text = "ble: \(error.message)"
        if let peripheral = error.peripheral {
            text += " (\(peripheral)" + (error.characteristic.map { ", \($0)" } ?? "") + ")"
        }
        text = text.harmless
        if let remedy = error.remedy { text += "\n     \(remedy.harmless)" }
        Progress.write(Terminal.fitting(text, indent: 5) + "\n")
    }
}
