import ArgumentParser
import BLE

/// An IO capability, with BlueZ's name or in lowercase with hyphens.
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
    static let names = IOCapability.allCases.map { capability in
        capability.rawValue.reduce(into: "") { text, character in
            if character.isUppercase, !text.isEmpty { text += "-" }
            text += character.lowercased()
        }
    }

    static var allValueStrings: [String] { names }

    static let help = ArgumentHelp(
        "What there is to show and ask with: \(names.joined(separator: ", ")). By default keyboard-display.",
        valueName: "what")
}

struct PairCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pair", abstract: "Pair with a peripheral, so that links to it are encrypted.",
        discussion: """
            Questions are asked on the terminal: whether a number is the same on both sides, or which one the peripheral \
            shows. Answers are read from standard input, a line each; its end refuses.
            """)

    @OptionGroup var options: CommonOptions

    @Argument(help: idHelp)
    var id: String

    @Option(help: CapabilityArgument.help)
    var capability: CapabilityArgument?

    @Flag(name: .shortAndLong, help: "Answer yes to every question that yes answers; others are refused.")
    var yes = false

    @Flag(help: "Let the peripheral use services of this machine without asking, from now on.")
    var trust = false

    @Option(
        help: ArgumentHelp(
            "The longest that pairing may take, with the time that you need to answer.", valueName: "seconds"))
    var pairingTimeout = 90.0

    func validate() throws {
        guard pairingTimeout > 0, pairingTimeout <= 86_400 else {
            throw ValidationError("--pairing-timeout takes a number of seconds above 0, at most 86400.")
        }
    }

    func run() async throws {
        let (id, timeout, trust) = (id, options.timeoutDuration, trust)
        let limit = Duration.milliseconds(Int64(pairingTimeout * 1000))
        let user = TerminalUser(saysYes: yes)
        let behavior = PairingBehavior(capability: capability?.capability ?? .keyboardDisplay, delegate: user)
        try await Session.run(options, pairing: behavior) { central, output in
            let peripheral = try await Finder(central: central, output: output, timeout: timeout).find(id)
            try await peripheral.pair(timeout: limit)
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

struct UnpairCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unpair",
        abstract:
            "Remove the bond with a peripheral, and all that this machine knows of it. No error when there is none.")

    @OptionGroup var options: CommonOptions

    @Argument(help: idHelp)
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
