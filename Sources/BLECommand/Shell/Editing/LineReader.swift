import BLE

/// A source of the lines that a user types.
protocol LineReader: Sendable {
    /// Shows the prompt, and returns the line that follows it; the end if the task is cancelled.
    func next(_ prompt: String, completing vocabulary: ShellVocabulary) async -> ReadLine

    /// Shows a message above the prompt, if there is one, and another prompt from now on.
    func announce(_ message: String, prompt: String)
}

/// What follows a prompt.
enum ReadLine: Equatable, Sendable {
    case line(String)
    /// The line was given up, with Ctrl-C.
    case interrupted
    case end
}

/// Reads lines from standard input as the terminal sends them, without history and completion.
struct PlainReader: LineReader {
    func next(_ prompt: String, completing vocabulary: ShellVocabulary) async -> ReadLine {
        Progress.write(prompt)
        let line = await StandardInput.shared.nextLine()
        // A task that was cancelled leaves a read behind.
        StandardInput.shared.endReads()
        if let line { return .line(line) }
        Progress.write("\n")
        return .end
    }

    /// Does nothing: the next prompt shows the state.
    func announce(_ message: String, prompt: String) {}
}
