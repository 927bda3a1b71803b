internal import Waiting

/// The pairings of a central: who is pairing, and which prompts are open.
struct Pairings {
    /// A prompt that the delegate answers.
    private struct Question {
        let peripheral: Peripheral.ID
        let outcome: Outcome<PairingAnswer>
    }

    /// The number of callers that are pairing with each peripheral.
    private var callers: [Peripheral.ID: Int] = [:]
    /// The peripherals whose link was established only to pair.
    private var linksMadeToPair: Set<Peripheral.ID> = []
    private var questions: [Int: Question] = [:]
    /// The displays for each peripheral.
    private var displays: [Peripheral.ID: DisplayQueue] = [:]
    /// The last task that notifies the delegate. The next one waits for it.
    private var notifications: Task<Void, Never>?

    // MARK: Callers

    /// Whether a caller is pairing with the peripheral.
    func isPairing(_ id: Peripheral.ID) -> Bool { callers[id] != nil }

    mutating func addCaller(of id: Peripheral.ID) { callers[id, default: 0] += 1 }

    /// Removes a caller. Returns true if it was the last.
    mutating func removeCaller(of id: Peripheral.ID) -> Bool {
        let left = (callers[id] ?? 1) - 1
        callers[id] = left > 0 ? left : nil
        return left == 0
    }

    /// Marks a link that is about to be made as needed only for pairing.
    mutating func makeLinkOnlyToPair(_ id: Peripheral.ID) { linksMadeToPair.insert(id) }

    /// Keeps the link beyond the pairing. Returns false if it was not made only to pair.
    @discardableResult mutating func keepLink(_ id: Peripheral.ID) -> Bool { linksMadeToPair.remove(id) != nil }

    // MARK: Prompts

    mutating func addQuestion(_ token: Int, about id: Peripheral.ID, _ outcome: Outcome<PairingAnswer>) {
        questions[token] = Question(peripheral: id, outcome: outcome)
    }

    mutating func removeQuestion(_ token: Int) { questions[token] = nil }

    /// Returns the display for a peripheral.
    mutating func display(for id: Peripheral.ID) -> DisplayQueue {
        let display = displays[id] ?? DisplayQueue()
        displays[id] = display
        return display
    }

    /// Withdraws the questions about matching peripherals, and removes and ends what is displayed for them.
    mutating func withdraw(
        where matches: (Peripheral.ID) -> Bool
    ) -> [(peripheral: Peripheral.ID, display: DisplayQueue)] {
        for question in questions.values where matches(question.peripheral) {
            question.outcome.deliver(.failure(.cancelled))
        }
        let ended = displays.filter { matches($0.key) }
        for (id, display) in ended {
            displays[id] = nil
            display.end()
        }
        return ended.map { ($0.key, $0.value) }
    }

    /// Notifies the delegate, outside the central and in order.
    mutating func notify(_ work: @escaping @Sendable () async -> Void) {
        notifications = Task { @concurrent [previous = notifications] in
            await previous?.value
            await work()
        }
    }

    /// Ends all prompts when the central is released, without notifying the delegate.
    func finish() {
        for question in questions.values { question.outcome.deliver(.failure(.shutDown)) }
        for display in displays.values { display.end() }
    }
}
