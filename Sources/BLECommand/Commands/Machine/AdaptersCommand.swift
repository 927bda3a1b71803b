import ArgumentParser
import BLE
import BLEDefinitions

struct AdaptersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "adapters", abstract: "List, switch and rename this machine's Bluetooth adapters.",
        discussion: """
            With --power or --alias, the adapter of --adapter, or else the default adapter, is changed first. The \
            default is the first adapter that is switched on, or else the first.
            """)

    enum Power: String, ExpressibleByArgument, CaseIterable {
        case on
        case off
    }

    @OptionGroup var options: CommonOptions

    @Option(help: "Switch the adapter on or off. Off ends all its links.")
    var power: Power?

    @Option(
        help: ArgumentHelp(
            "The name that the adapter shows to others; empty for the system's name.", valueName: "name"))
    var alias: String?

    func run() async throws {
        let (power, alias) = (power, alias)
        try await Session.run(options, outage: .isNothing) { central, output in
            if let power {
                try await output.progress.during("Switching the adapter \(power.rawValue)") {
                    try await central.setPowered(power == .on)
                }
            }
            if let alias { try await central.setAlias(alias) }
            try output.text(output.paint("ADAPTER  ADDRESS            POWERED  SCANNING  DEFAULT  NAME", .bold))
            for adapter in try await central.adapters() { try Self.show(adapter, output) }
        }
    }

    private static func show(_ adapter: Adapter, _ output: Output) throws {
        try output.line(
            .object([
                "adapter": .string(adapter.id), "address": .string(adapter.address), "name": .string(adapter.name),
                "powered": .bool(adapter.isPowered), "discovering": .bool(adapter.isDiscovering),
                "default": .bool(adapter.isInUse),
            ]),
            [
                adapter.id.padded(to: 7), adapter.address.padded(to: 17), yes(adapter.isPowered).padded(to: 7),
                yes(adapter.isDiscovering).padded(to: 8), yes(adapter.isInUse).padded(to: 7), adapter.name.harmless,
            ].joined(separator: "  "))
    }

    private static func yes(_ value: Bool) -> String { value ? "yes" : "no" }
}
