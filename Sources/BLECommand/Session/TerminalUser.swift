import BLE
import Synchronization
internal import Waiting

/// Answers pairing prompts on the terminal, or from standard input.
///
/// Prompts are written to standard error. A line answers the prompt that was shown when the line was typed: text that
/// was typed before the first prompt, or for a prompt that was withdrawn, is dropped. Input that is not typed, such as
/// the output of a script, waits for the prompts, until a prompt is withdrawn. At the end of the input, prompts are
/// refused.
actor TerminalUser: PairingDelegate {
    /// The source of the answers.
    enum Source {
        /// Each prompt reads a line of standard input.
        case standardInput
        /// A command reads ``nextLine()``, which also returns the lines that do not answer a prompt.
        case given
    }

    private let saysYes: Bool
    private let source: Source
    private let output: Output
    private let input: StandardInput
    private var prompt = PromptState()
    /// The number of prompts that have been shown.
    private nonisolated let shown = Atomic(0)
    /// Delivers the line that answers the current prompt.
    private var waiter: Outcome<String?>?
    /// The last answer of the user. Nil if there was no question.
    var lastAnswer: Answer? { prompt.wasWithdrawn ? nil : answer }
    private var answer: Answer?

    /// The answer to a pairing prompt.
    enum Answer {
        /// The user refused, or did not answer.
        case refused
        /// The input ended before there was an answer.
        case ended
        /// The user entered a number, or a PIN code.
        case entered
        /// The user agreed.
        case agreed
    }

    /// - Parameters:
    ///   - output: writes the prompts.
    ///   - input: the input that contains the lines.
    init(saysYes: Bool, source: Source = .standardInput, output: Output, input: StandardInput = .shared) {
        (self.saysYes, self.source, self.output, self.input) = (saysYes, source, output, input)
    }

    // MARK: Prompts of a central

    func confirm(_ passkey: Passkey, for peripheral: Peripheral) async -> Bool {
        await reply(.confirm(passkey), peripheral) == .accept
    }

    func enterPasskey(for peripheral: Peripheral) async -> Passkey? {
        guard case .passkey(let passkey) = await reply(.enterPasskey, peripheral) else { return nil }
        return passkey
    }

    func show(_ passkey: Passkey, entered: Int, for peripheral: Peripheral) async {
        _ = await reply(.show(passkey, entered: entered), peripheral)
    }

    func enterPINCode(for peripheral: Peripheral) async -> String? {
        guard case .pinCode(let code) = await reply(.enterPINCode, peripheral) else { return nil }
        return code
    }

    func show(pinCode: String, for peripheral: Peripheral) async {
        _ = await reply(.showPINCode(pinCode), peripheral)
    }

    func authorizePairing(with peripheral: Peripheral) async -> Bool {
        await reply(.authorizePairing, peripheral) == .accept
    }

    func authorize(_ service: BluetoothUUID, for peripheral: Peripheral) async -> Bool {
        await reply(.authorizeService(service), peripheral) == .accept
    }

    private func reply(_ prompt: PairingPrompt, _ peripheral: Peripheral) async -> PairingAnswer {
        await reply(to: prompt, of: peripheral.id)
    }

    // MARK: Prompts of either role

    /// Shows a prompt, and returns the answer.
    func reply(to prompt: PairingPrompt, of device: Peripheral.ID) async -> PairingAnswer {
        switch prompt {
        case .confirm(let passkey): return await agree("Does \(device) show \(passkey)?")
        case .authorizePairing: return await agree("Pair with \(device)?")
        case .authorizeService(let service): return await agree("May \(device) use the service \(service)?")
        case .enterPasskey: return await enterPasskey(of: device)
        case .enterPINCode:
            guard let code = await ask("The PIN code of \(device): "), (1...16).contains(code.utf8.count) else {
                return refuse()
            }
            answer = .entered
            return .pinCode(code)
        case .show(let passkey, entered: 0): output.prompt("Enter \(passkey) on \(device).\n")
        case .show(_, let entered): output.prompt("\(entered) of 6 digits entered on \(device).\n")
        case .showPINCode(let code): output.prompt("Enter \(code.harmless) on \(device).\n")
        }
        return .accept
    }

    private func enterPasskey(of device: Peripheral.ID) async -> PairingAnswer {
        while let line = await ask("The number that \(device) shows: ") {
            if let passkey = Passkey(line) {
                answer = .entered
                return .passkey(passkey)
            }
            output.prompt("That is not a number of up to six digits.\n")
        }
        return refuse()
    }

    private func agree(_ question: String) async -> PairingAnswer {
        if saysYes {
            output.prompt("\(question) yes\n")
            answer = .agreed
            return .accept
        }
        let reply = await ask("\(question) [y/N] ")?.lowercased()
        guard reply == "y" || reply == "yes" else { return refuse() }
        answer = .agreed
        return .accept
    }

    private func refuse() -> PairingAnswer {
        answer = prompt.isAtEnd ? .ended : .refused
        return .refuse
    }

    // MARK: Lines

    /// Whether a prompt waits for its answer.
    var isAsking: Bool { waiter != nil }

    /// Returns the next line that does not answer a prompt; nil at the end of the input.
    func nextLine() async -> String? {
        while true {
            let (line, shown) = await readLine()
            // A cancelled task receives nil, too.
            if line == nil, Task.isCancelled { return nil }
            guard take(line, shown: shown), line != nil else { return line }
        }
    }

    /// Returns the next line, nil at the end of the input, and the number of prompts that had been shown by then.
    nonisolated func readLine() async -> (line: String?, shown: Int) {
        let number = Mutex(0)
        let line = await input.nextLine { number.withLock { $0 = self.shown.load(ordering: .acquiring) } }
        return (line, number.withLock(\.self))
    }

    /// Uses a line as the answer to the current prompt. Returns false if there is no prompt, or if the line was read
    /// before it was shown. Nil means the end of the input.
    ///
    /// - Parameter shown: the number of prompts that had been shown when the line was read.
    @discardableResult
    func take(_ line: String?, shown: Int) -> Bool {
        guard prompt.receive(line, isLate: shown < self.shown.load(ordering: .acquiring)) else { return false }
        waiter?.deliver(.success(line))
        waiter = nil
        return true
    }

    /// Returns the line that answers a question. Nil at the end of the input, if prompts are answered automatically,
    /// and if the prompt is cancelled.
    private func ask(_ question: String) async -> String? {
        guard !saysYes, !prompt.isAtEnd, waiter == nil else { return nil }
        let actions = prompt.ask()
        // A command that also reads other lines has taken the lines that have arrived, and continues to read. Typed
        // input is dropped in any case: otherwise, the beginning of a line for another prompt would become the
        // beginning of this answer.
        input.drop(whatArrived: source == .standardInput && actions.drops && actions.reads)
        // A line that was read before this step was not typed for the question.
        shown.add(1, ordering: .acquiringAndReleasing)
        output.prompt(question)
        let outcome = Outcome<String?>()
        waiter = outcome
        if source == .standardInput, actions.reads { read() }
        do throws(BLEError) {
            return try await outcome.wait()
        } catch {
            if waiter === outcome { waiter = nil }
            prompt.withdraw()
            output.prompt("\n")
            return nil
        }
    }

    private func read() {
        Task {
            while prompt.isReading {
                let (line, shown) = await readLine()
                take(line, shown: shown)
            }
        }
    }
}

/// Decides which lines answer a prompt.
struct PromptState {
    /// Whether the last prompt was withdrawn before it was answered.
    private(set) var wasWithdrawn = false
    /// Whether the input has ended.
    private(set) var isAtEnd = false
    private var isAsking = false
    /// Whether a line is being read.
    private(set) var isReading = false

    /// Records that a prompt is shown. Returns whether to drop the input that has arrived, and whether to read a line.
    /// A read that was begun for a withdrawn prompt continues.
    mutating func ask() -> (drops: Bool, reads: Bool) {
        defer { (isAsking, isReading, wasWithdrawn) = (true, true, false) }
        return (wasWithdrawn, !isReading)
    }

    mutating func withdraw() { (isAsking, wasWithdrawn) = (false, true) }

    /// Records a line, or the end of the input. Returns whether it answers a prompt.
    ///
    /// - Parameter isLate: whether the line was read before the last prompt was shown. If that prompt is still open,
    ///   reading continues.
    mutating func receive(_ line: String?, isLate: Bool = false) -> Bool {
        if isLate, isAsking, line != nil { return false }
        defer { (isAsking, isReading) = (false, false) }
        if line == nil { isAtEnd = true }
        return isAsking
    }
}
