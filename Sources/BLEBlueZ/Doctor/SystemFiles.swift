#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// Reads small files in which the kernel and the system describe themselves.
struct SystemFiles: Sendable {
    /// The prefix of each path; for tests, a directory other than `/`.
    var root = ""

    /// Returns the first line of a file, without surrounding blanks; nil if it cannot be read.
    func line(_ path: String) -> String? {
        text(path)?.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false).first.map { line in
            let blanks: (Character) -> Bool = { $0 == " " || $0 == "\t" }
            let start = line.firstIndex { !blanks($0) } ?? line.endIndex
            return String(line[start...].reversed().drop(while: blanks).reversed())
        }
    }

    /// Returns the first 64 KiB of a file; nil if it cannot be read.
    func text(_ path: String) -> String? {
        let descriptor = open(root + path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 65536)
        var count = 0
        while count < bytes.count {
            let read = bytes.withUnsafeMutableBytes { Self.read(descriptor, $0, from: count) }
            if read < 0, errno == EINTR { continue }
            guard read >= 0 else { return nil }
            if read == 0 { break }
            count += read
        }
        return String(decoding: bytes[..<count], as: UTF8.self)
    }

    private static func read(_ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer, from offset: Int) -> Int {
        let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[offset...])
        #if canImport(Glibc)
            return Glibc.read(descriptor, rest.baseAddress, rest.count)
        #else
            return Musl.read(descriptor, rest.baseAddress, rest.count)
        #endif
    }

    /// Returns the names in a directory, in no particular order; empty if it cannot be read.
    func list(_ path: String) -> [String] {
        guard let directory = opendir(root + path) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    /// Returns whether a path exists and is visible to this user.
    func exists(_ path: String) -> Bool { access(root + path, F_OK) == 0 }
}
