#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The properties of the terminal.
enum Terminal {
    /// Whether the terminal has no control sequences, so that nothing can be rewritten or colored.
    static let isDumb = getenv("TERM").map { String(cString: $0) == "dumb" } ?? false

    static let hasColors = getenv("NO_COLOR").map { $0.pointee == 0 } ?? true

    /// Returns the size of the terminal of a descriptor. Nil if it is not a terminal.
    static func size(of descriptor: Int32) -> (columns: Int, rows: Int)? {
        var size = winsize()
        guard isatty(descriptor) != 0, ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 else { return nil }
        // A terminal of unknown size reports 0.
        return (size.ws_col == 0 ? 80 : Int(size.ws_col), size.ws_row == 0 ? 24 : Int(size.ws_row))
    }

    /// Returns the text in lines that fit standard error, if that is a terminal.
    static func fitting(_ text: String, indent: Int) -> String {
        guard let columns = size(of: STDERR_FILENO)?.columns else { return text }
        return text.wrapped(columns: columns, indent: indent)
    }
}
