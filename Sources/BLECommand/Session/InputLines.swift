import Dispatch

/// The lines of standard input.
enum InputLines {
    /// Returns the lines as they arrive. At most 1000 wait to be read.
    static func all() -> AsyncStream<String> {
        let (lines, line) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingOldest(1000))
        // A thread of its own, because reading blocks. It ends with the input or the process.
        DispatchQueue.global().async {
            while let text = readLine() { line.yield(text) }
            line.finish()
        }
        return lines
    }
}
