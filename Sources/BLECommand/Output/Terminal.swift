#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What the environment says about the terminal.
enum Terminal {
    /// Whether the terminal has no control sequences, so that nothing can be rewritten or colored.
    static let isDumb = getenv("TERM").map { String(cString: $0) == "dumb" } ?? false

    static let hasColors = getenv("NO_COLOR").map { $0.pointee == 0 } ?? true
}
