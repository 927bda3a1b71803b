import ArgumentParser
import BLE
import BLEDefinitions

/// An IO capability on the command line: BlueZ's name, or the name in lowercase with hyphens.
struct CapabilityArgument: ExpressibleByArgument, Sendable {
    let capability: IOCapability

    init?(argument: String) {
        let wanted = argument.lowercased().filter { $0 != "-" }
        guard let found = IOCapability.allCases.first(where: { $0.rawValue.lowercased() == wanted }) else {
            return nil
        }
        capability = found
    }

    /// The names in lowercase with hyphens.
    static let names = IOCapability.allCases.map(name(of:))

    /// Returns the name in lowercase with hyphens.
    static func name(of capability: IOCapability) -> String {
        capability.rawValue.reduce(into: "") { text, character in
            if character.isUppercase, !text.isEmpty { text += "-" }
            text += character.lowercased()
        }
    }

    static var allValueStrings: [String] { names }

    static let help = ArgumentHelp(
        "The IO capability of this side: \(names.joined(separator: ", ")). By default keyboard-display.",
        valueName: "what")
}

struct PairCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pair", abstract: "Pair with a peripheral, so that links to it are encrypted.",
        discussion: """
            Questions are asked on the terminal: whether a number is the same on both sides, or which number the \
            peripheral shows. Answers are read from standard input, one line each; the end of the input refuses. Text \
            that was typed before a question appeared is not an answer.
            """)

    @OptionGroup var options: CommonOptions

    @Argument(help: idHelp, completion: .peripherals)
    var id: String

    @Option(help: CapabilityArgument.help)
    var capability: CapabilityArgument?

    @Flag(name: .shortAndLong, help: "Answer all yes-or-no questions with yes, and refuse all others.")
    var yes = false

    @Flag(help: "From now on, let the peripheral use services of this machine without a question.")
    var trust = false

    @Option(
        help: ArgumentHelp(
            "The maximum time for pairing, including your answers.", valueName: "seconds"))
    var pairingTimeout = 90.0

    func validate() throws {
        guard pairingTimeout > 0, pairingTimeout <= 86_400 else {
            throw ValidationError("--pairing-timeout is a number of seconds above 0, at most 86400.")
        }
    }

    func run() async throws {
        let (id, timeout, trust) = (id, options.timeoutDuration, trust)
        let limit = Duration.milliseconds(Int64(pairingTimeout * 1000))
        let user = TerminalUser(saysYes: yes, output: Output(json: options.json))
        let behavior = PairingBehavior(capability: capability?.capability ?? .keyboardDisplay, delegate: user)
        try await Session.run(options, pairing: behavior) { central, output in
            let peripheral = try await Finder(central: central, output: output, timeout: timeout).find(id)
            do throws(BLEError) {
                try await peripheral.pair(timeout: limit)
            } catch {
                throw Self.explain(error, after: await user.lastAnswer, with: behavior.capability)
            }
            if trust { try await peripheral.setTrusted(true) }
            let state = try await peripheral.pairingState()
            try output.line(
                .object([
                    "id": .string(peripheral.id.rawValue), "identity": .string(state.identity.rawValue),
                    "paired": .bool(state.isPaired), "trusted": .bool(state.isTrusted),
                ]),
                "paired with \(peripheral)"
                    + (state.identity == peripheral.id ? "" : ", which is \(state.identity) from now on"))
        }
    }
}

extension PairCommand {
    /// Returns the error with the cause that follows from the user's answers. bluetoothd has one error for all causes.
    static func explain(
        _ error: BLEError, after answer: TerminalUser.Answer?, with capability: IOCapability
    ) -> BLEError {
        // Other failures have specific texts already.
        guard error.code == .pairingFailed,
            error.stackErrorName == nil || error.stackErrorName!.hasSuffix(".AuthenticationFailed")
        else { return error }
        var error = error
        switch answer {
        case .refused:
            (error.message, error.remedy) = ("pairing failed: it was refused on this side", "Answer the question.")
        case .ended:
            error.message = "pairing failed: the input ended before the question was answered"
            error.remedy = "Answer it on standard input, or use --yes for a yes-or-no question."
        case .entered:
            error.message = "pairing failed: the number was wrong"
            error.remedy = "Enter the number that the peripheral shows now."
        case .agreed:
            error.message = "pairing failed: it was refused on the peripheral"
            error.remedy = "Accept it on the peripheral, too, and compare the numbers."
        case nil:
            error.message =
                "pairing failed: the peripheral refused, or requires more than --capability "
                + CapabilityArgument.name(of: capability)
            error.remedy =
                "Put the peripheral into pairing mode"
                + (capability == .keyboardDisplay ? "." : ", or try --capability keyboard-display.")
        }
        return error
    }
}

struct UnpairCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unpair",
        abstract:
            "Remove the bond with a peripheral, and everything that this machine knows about it. Not an error "
            + "if there is no bond.")

    @OptionGroup var options: CommonOptions

    @Argument(help: idHelp, completion: .peripherals)
    var id: String

    func run() async throws {
        let (id, timeout) = (id, options.timeoutDuration)
        try await Session.run(options) { central, output in
            let peripheral = try await Finder(central: central, output: output, timeout: timeout).find(id)
            let wasPaired = try await peripheral.isPaired
            try await output.progress.during("Unpairing \(peripheral)") { try await peripheral.unpair() }
            try output.line(
                .object(["id": .string(peripheral.id.rawValue), "wasPaired": .bool(wasPaired)]),
                wasPaired ? "no longer paired with \(peripheral)" : "was not paired with \(peripheral)")
        }
    }
}
