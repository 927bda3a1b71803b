import BLE
import FoundationEssentials
import Synchronization

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
    private let screen = Screen()

    /// What is written again and again at the end of the terminal.
    private final class Screen: Sendable {
        let area = Mutex(TerminalArea())
    }

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
        // A terminal that does not know its size says 0.
        return (size.ws_col == 0 ? 80 : Int(size.ws_col), size.ws_row == 0 ? 24 : Int(size.ws_row))
    }

    /// Writes lines in the place of those that were written so the last time.
    func rewrite(_ lines: [String]) throws {
        guard let columns = terminalSize?.columns else { return }
        try screen.area.withLock { area in
            try write(area.replace(with: lines.map(Self.harmless), columns: columns), terminator: "")
        }
    }

    /// Text in which only line breaks and this program's own colors command a terminal; what others wrote has been cleaned before.
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
        progress.clear()
        var bytes = Array((text + terminator).utf8)[...]
        while !bytes.isEmpty {
            let written = bytes.withUnsafeBytes { Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            if written < 0, errno == EINTR { continue }
            guard written > 0 else { throw OutputClosed() }
            bytes = bytes.dropFirst(written)
        }
    }

    /// Text in a color, on a terminal only.
    func paint(_ text: String, _ style: Style) -> String {
        isTerminal ? style.sequence + text + Style.plain.sequence : text
    }

    enum Style: Int, CaseIterable {
        case plain = 0
        case bold = 1
        case dim = 2
        case red = 31
        case green = 32

        fileprivate var sequence: String { "\u{1B}[\(rawValue)m" }
        fileprivate static let sequences = allCases.map(\.sequence)
    }

    /// A line for people about what is going on, on standard error. What is written again and again goes on below it.
    func note(_ text: String) {
        progress.clear()
        let line = "ble: \(text.harmless)\n"
        guard Progress.isTerminal, let columns = terminalSize?.columns else { return Progress.write(line) }
        screen.area.withLock { area in
            // That nobody reads any more is found out with the next value.
            try? write(area.erasure(columns: columns), terminator: "")
            Progress.write(line)
            try? write(area.drawing, terminator: "")
        }
    }

    /// An error, on standard error: what, where, and what to do.
    func complain(_ error: BLEError) {
        progress.clear()
        var text = "ble: \(error.message)"
        if let peripheral = error.peripheral {
            text += " (\(peripheral)" + (error.characteristic.map { ", \($0)" } ?? "") + ")"
        }
        text = text.harmless + "\n"
        if let remedy = error.remedy { text += "     \(remedy.harmless)\n" }
        Progress.write(text)
    }
}
