import ArgumentParser
import BLE

/// The options of commands that serve, about the pairings that centrals begin.
struct PairingOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Answer the pairings that centrals begin, as the system's agent: with what there is to show and ask with, "
                + "\(CapabilityArgument.names.joined(separator: ", ")). Without a terminal: no-input-no-output.",
            valueName: "what"))
    var pairing: CapabilityArgument?

    @Flag(name: .shortAndLong, help: "Answer yes to every question of a pairing that yes answers; others are refused.")
    var yes = false

    func validate() throws {
        if yes, pairing == nil { throw ValidationError("--yes answers the questions of --pairing: give that, too.") }
    }

    /// Whether a pairing may ask something that has to be answered with a line of input.
    var mayAsk: Bool { pairing.map { !yes && $0.capability != .noInputNoOutput } ?? false }

    /// Returns what answers the prompts, with the lines that the command gives it, and the agent for it. Nil if another
    /// program is to answer.
    ///
    /// - Parameter json: whether prompts are written as JSON.
    func makeAgent(json: Bool) -> (user: TerminalUser, agent: PairingAgent)? {
        guard let capability = pairing?.capability else { return nil }
        // Without a user, a pairing without numbers is what was asked for.
        let user = TerminalUser(saysYes: !mayAsk, source: .given, output: Output(json: json))
        return (user, PairingAgent(capability: { capability }, isDefault: true) { await user.reply(to: $1, of: $0) })
    }

    /// What to tell before a definition is served that no pairing may let be read. Nil if there is nothing to tell.
    func warning(about definition: PeripheralDefinition) -> String? {
        let requires =
            definition.services.contains { $0.characteristics.contains { $0.security != .open } }
            || definition.channels.contains { $0.options.security != .open }
        return warning(ifRequired: requires, isAuthenticated: definition.requiresAuthentication)
    }

    /// The same for something that requires security, or not.
    func warning(ifRequired isRequired: Bool, isAuthenticated: Bool) -> String? {
        guard isRequired else { return nil }
        guard let capability = pairing?.capability else {
            return "what requires security can only be read after pairing, which this program leaves to the system's "
                + "agent. Where none runs (no desktop, no bluetoothctl), bluetoothd refuses to pair: give --pairing, "
                + "such as --pairing no-input-no-output."
        }
        guard isAuthenticated, capability == .noInputNoOutput else { return nil }
        return "no central can read what requires an authenticated link: --pairing no-input-no-output has no numbers. "
            + "Give another one, such as --pairing display-only."
    }
}

extension PeripheralDefinition {
    /// Whether anything of it requires a link that was paired with numbers.
    fileprivate var requiresAuthentication: Bool {
        services.contains { $0.characteristics.contains { $0.security == .authenticated } }
            || channels.contains { $0.options.security == .authenticated }
    }
}
