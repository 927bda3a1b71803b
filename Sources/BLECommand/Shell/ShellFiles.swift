import BLE

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The files that a word of a line can mean.
enum ShellFiles {
    /// The maximum number of files of a directory that are looked at.
    private static let limit = 10_000

    /// Returns the paths in the directory that the word begins with. Those of directories end with a slash.
    ///
    /// Hidden files are among them only if the word says so. A name that controls a terminal, or that a line cannot
    /// contain, is left out.
    static func words(beginning word: String) -> [String] {
        let place = word.lastIndex(of: "/").map { word[...$0] } ?? ""
        guard let directory = opendir(place.isEmpty ? "." : String(place)) else { return [] }
        defer { closedir(directory) }
        let wanted = word.dropFirst(place.count).lowercased()
        var words: [String] = []
        for _ in 0..<limit {
            guard let entry = readdir(directory) else { break }
            let bytes = withUnsafeBytes(of: &entry.pointee.d_name) { name in Array(name.prefix { $0 != 0 }) }
            guard let name = String(validating: bytes, as: UTF8.self), name != ".", name != "..",
                name.lowercased().hasPrefix(wanted), !name.hasPrefix(".") || wanted.hasPrefix("."),
                name == name.harmless
            else { continue }
            let path = place + name
            guard (try? ShellWords.split("send " + ShellWords.quoted(String(path)))) == ["send", String(path)] else {
                continue
            }
            words.append(String(path) + (isDirectory(String(path)) ? "/" : ""))
        }
        return words
    }

    private static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}
