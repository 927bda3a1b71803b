internal import Waiting

/// The pairing with one peripheral: the callers that pair, and the open prompts.
struct LinkPairing {
    /// The number of callers that are pairing.
    private var callers = 0
    /// Whether the link was established only to pair.
    private var isOnlyToPair = false
    /// The prompts that the delegate answers.
    private var questions: [Int: Outcome<PairingAnswer>] = [:]
    private var display: DisplayQueue?

    /// Whether a caller is pairing.
    var isInProgress: Bool { callers > 0 }

    /// Whether there is nothing that must be kept.
    var isEmpty: Bool { callers == 0 && !isOnlyToPair && questions.isEmpty && display == nil }

    // MARK: Callers

    mutating func addCaller() { callers += 1 }

    /// Removes a caller. Returns true if it was the last.
    mutating func removeCaller() -> Bool {
        callers -= 1
        return callers == 0
    }

    /// Marks a link that is about to be made as needed only for pairing.
    mutating func makeLinkOnlyToPair() { isOnlyToPair = true }

    /// Keeps the link beyond the pairing. Returns false if it was not made only to pair.
    @discardableResult mutating func keepLink() -> Bool {
        defer { isOnlyToPair = false }
        return isOnlyToPair
    }

    // MARK: Prompts

    mutating func addQuestion(_ token: Int, _ outcome: Outcome<PairingAnswer>) { questions[token] = outcome }

    mutating func removeQuestion(_ token: Int) { questions[token] = nil }

    /// Returns what shows prompts, one in place of the other.
    mutating func displayed() -> DisplayQueue {
        let current = display ?? DisplayQueue()
        display = current
        return current
    }

    /// Withdraws the questions, and ends what is displayed, which is returned.
    mutating func withdraw(_ error: BLEError = .cancelled) -> DisplayQueue? {
        for question in questions.values { question.deliver(.failure(error)) }
        defer { display = nil }
        display?.end()
        return display
    }
}
