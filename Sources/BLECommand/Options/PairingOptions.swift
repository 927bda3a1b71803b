import ArgumentParser
import BLE

/// The options of commands that serve, for pairings that centrals begin.
struct PairingOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Answer the pairings that centrals begin, as the system's agent, with this IO capability: "
                + "\(CapabilityArgument.names.joined(separator: ", ")). Without a terminal: no-input-no-output.",
            valueName: "what"))
    var pairing: CapabilityArgument?

    @Flag(name: .shortAndLong, help: "Answer all yes-or-no questions of a pairing with yes, and refuse all others.")
    var yes = false

    func validate() throws {
        if yes, pairing == nil { throw ValidationError("--yes requires --pairing.") }
    }

    /// Whether a pairing may have a prompt that must be answered with a line of input.
    var mayAsk: Bool { pairing.map { !yes && $0.capability != .noInputNoOutput } ?? false }

    /// Returns a user that answers prompts with the lines that the command passes to it, and its agent. Nil if another
    /// program answers.
    ///
    /// - Parameter json: whether prompts are written as JSON.
    func makeAgent(json: Bool) -> (user: TerminalUser, agent: PairingAgent)? {
        guard let capability = pairing?.capability else { return nil }
        // The option without a user requests pairing without numbers.
        let user = TerminalUser(saysYes: !mayAsk, source: .given, output: Output(json: json))
        return (user, PairingAgent(capability: { capability }, isDefault: true) { await user.reply(to: $1, of: $0) })
    }

    /// The warning for a definition whose secured values may be unreadable because of the pairing options. Nil if there
    /// is no warning.
    func warning(about definition: PeripheralDefinition) -> String? {
        let requires =
            definition.services.contains { $0.characteristics.contains { $0.security != .open } }
            || definition.channels.contains { $0.options.security != .open }
        return warning(ifRequired: requires, isAuthenticated: definition.requiresAuthentication)
    }

    /// The warning for an attribute or a channel with these requirements.
    func warning(ifRequired isRequired: Bool, isAuthenticated: Bool) -> String? {
        guard isRequired else { return nil }
        guard let capability = pairing?.capability else {
            return "values that require security can only be read after pairing, which this program leaves to the "
                + "system's agent. Without an agent (no desktop, no bluetoothctl), bluetoothd refuses to pair: add "
                + "--pairing, such as --pairing no-input-no-output."
        }
        guard isAuthenticated, capability == .noInputNoOutput else { return nil }
        return "no central can read values that require an authenticated link: --pairing no-input-no-output has "
            + "no numbers. Use another capability, such as --pairing display-only."
    }
}

extension PeripheralDefinition {
    /// Whether any value requires a link that was paired with numbers.
    fileprivate var requiresAuthentication: Bool {
        services.contains { $0.characteristics.contains { $0.security == .authenticated } }
            || channels.contains { $0.options.security == .authenticated }
    }
}
