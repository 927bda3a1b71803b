import ArgumentParser
import BLE

struct AdaptersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "adapters", abstract: "List this machine's Bluetooth adapters.")

    @OptionGroup var options: CommonOptions

    func run() async throws {
        try await Session.run(options, outage: .isNothing) { central, output in
            try output.text(output.paint("ADAPTER  ADDRESS            POWERED  SCANNING  NAME", .bold))
            for adapter in try await central.adapters() {
                try output.line(
                    .object([
                        "adapter": .string(adapter.id), "address": .string(adapter.address),
                        "name": .string(adapter.name),
                        "powered": .bool(adapter.isPowered), "discovering": .bool(adapter.isDiscovering),
                    ]),
                    [
                        adapter.id.padded(to: 7), adapter.address.padded(to: 17),
                        (adapter.isPowered ? "yes" : "no").padded(to: 7),
                        (adapter.isDiscovering ? "yes" : "no").padded(to: 8), adapter.name,
                    ].joined(separator: "  "))
            }
        }
    }
}

extension String {
    func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }

    func paddedLeft(to width: Int) -> String {
        String(repeating: " ", count: max(0, width - count)) + self
    }
}
