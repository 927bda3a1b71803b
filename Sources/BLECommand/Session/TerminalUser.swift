import BLE
import Dispatch
internal import Waiting

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Answers pairing prompts on the terminal, or from standard input.
///
/// Prompts are written to standard error. Input that arrives without a prompt is used for the next one. At the end of
/// the input, prompts are refused.
actor TerminalUser: PairingDelegate {
    private let saysYes: Bool
    private var lines: Task<String?, Never>?
    /// What the user was asked last, and answered. Nil if there was no question.
    var lastAnswer: Answer? { wasWithdrawn ? nil : answer }
    private var answer: Answer?
    /// Whether the last question was withdrawn before it was answered.
    private var wasWithdrawn = false

    /// How a pairing prompt was answered.
    enum Answer {
        /// The user refused, or did not answer.
        case refused
        /// The user entered a number, or a PIN code.
        case entered
        /// The user agreed.
        case agreed
    }

    init(saysYes: Bool) {
        self.saysYes = saysYes
    }

    func confirm(_ passkey: Passkey, for peripheral: Peripheral) async -> Bool {
        await agree("Does \(peripheral) show \(passkey)?")
    }

    func enterPasskey(for peripheral: Peripheral) async -> Passkey? {
        let question = "The number that \(peripheral) shows: "
        while let line = await ask(question) {
            if let passkey = Passkey(line) {
                answer = .entered
                return passkey
            }
            Progress.write("That is not a number of up to six digits.\n")
        }
        answer = .refused
        return nil
    }

    nonisolated func show(_ passkey: Passkey, entered: Int, for peripheral: Peripheral) async {
        Progress.write(
            entered == 0
                ? "Enter \(passkey) on \(peripheral).\n" : "\(entered) of 6 digits entered on \(peripheral).\n")
    }

    func enterPINCode(for peripheral: Peripheral) async -> String? {
        guard let code = await ask("The PIN code of \(peripheral): "), (1...16).contains(code.utf8.count) else {
            answer = .refused
            return nil
        }
        answer = .entered
        return code
    }

    nonisolated func show(pinCode: String, for peripheral: Peripheral) async {
        Progress.write("Enter \(pinCode) on \(peripheral).\n")
    }

    func authorizePairing(with peripheral: Peripheral) async -> Bool { await agree("Pair with \(peripheral)?") }

    func authorize(_ service: BluetoothUUID, for peripheral: Peripheral) async -> Bool {
        await agree("May \(peripheral) use the service \(service)?")
    }

    private func agree(_ question: String) async -> Bool {
        if saysYes {
            Progress.write("\(question) yes\n")
            answer = .agreed
            return true
        }
        let reply = await ask("\(question) [y/N] ")?.lowercased()
        answer = reply == "y" || reply == "yes" ? .agreed : .refused
        return answer == .agreed
    }

    /// Reads a line from standard input, without surrounding spaces. Nil at the end of the input, if prompts are
    /// answered automatically, and if the prompt is cancelled.
    private func ask(_ question: String) async -> String? {
        guard !saysYes else { return nil }
        Progress.write(question)
        wasWithdrawn = false
        let outcome = Outcome<String?>()
        let reader = lines ?? Task { await Self.readLine() }
        lines = reader
        Task { outcome.deliver(.success(await reader.value)) }
        guard let line = try? await outcome.wait() else {
            Progress.write("\n")
            wasWithdrawn = true
            return nil
        }
        lines = nil
        return line
    }

    /// Reads a line on a thread that may block.
    private static func readLine() async -> String? {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: Swift.readLine()) }
        }
    }
}
