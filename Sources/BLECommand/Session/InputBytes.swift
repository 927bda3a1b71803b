import Dispatch

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Reads standard input on demand, so that the program that writes it waits while nothing is read.
enum InputBytes {
    /// Returns what has arrived, up to a number of bytes; nil at the end.
    static func next(atMost count: Int) async -> [UInt8]? {
        await reading {
            var bytes = [UInt8](repeating: 0, count: count)
            while true {
                let read = read(STDIN_FILENO, &bytes, count)
                if read < 0, errno == EINTR { continue }
                return read > 0 ? Array(bytes[..<read]) : nil
            }
        }
    }

    /// Returns the next line; nil at the end.
    static func nextLine() async -> String? { await reading { readLine() } }

    /// Reads on a thread of its own, because reading blocks. It ends with the input or the process.
    private static func reading<Value: Sendable>(_ read: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: read()) }
        }
    }
}
