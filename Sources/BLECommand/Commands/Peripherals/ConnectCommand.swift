import ArgumentParser
import BLE
import BLEDefinitions

struct ConnectCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "connect", abstract: "Keep a link to a peripheral up, and show its changes.",
        discussion: "Runs until interrupted, or, without --maintain, until the link ends.")

    @OptionGroup var options: CommonOptions
    @OptionGroup var maintain: MaintainOption

    @Argument(help: idHelp, completion: .peripherals)
    var id: String

    func run() async throws {
        let (id, timeout, maintain) = (id, options.timeoutDuration, maintain)
        try await Session.run(options, outage: maintain.outage) { central, output in
            let peripheral = try await Finder(
                central: central, output: output, timeout: timeout, isPatient: maintain.maintain
            ).find(id)
            let events = await peripheral.connectionEvents()
            if maintain.maintain {
                try await maintain.apply(to: peripheral)
            } else {
                try await output.progress.during("Connecting to \(peripheral)") { try await peripheral.connect() }
            }
            for try await event in events {
                try Self.show(event, of: peripheral, output)
                switch event {
                case .disconnected(let error) where !maintain.maintain,
                    .disconnectFailed(let error) where !maintain.maintain:
                    throw error
                default: break
                }
            }
        }
    }

    private static func show(_ event: ConnectionEvent, of peripheral: Peripheral, _ output: Output) throws {
        switch event {
        case .connecting: try show("connecting", nil, nil, of: peripheral, output)
        case .connected: try show("connected", nil, nil, of: peripheral, output)
        case .servicesChanged: try show("servicesChanged", nil, nil, of: peripheral, output)
        case .waiting(let error): try show("waiting", error, nil, of: peripheral, output)
        case .connectFailed(let error, let pause): try show("failed", error, pause, of: peripheral, output)
        case .disconnected(let error): try show("disconnected", error, nil, of: peripheral, output)
        case .disconnectFailed(let error): try show("disconnectFailed", error, nil, of: peripheral, output)
        }
    }

    private static func show(
        _ event: String, _ error: BLEError?, _ retryAfter: Duration?, of peripheral: Peripheral, _ output: Output
    ) throws {
        let seconds = retryAfter.map { Double($0.components.seconds) + Double($0.components.attoseconds) / 1e18 }
        try output.line(
            .object([
                "event": .string(event), "id": .string(peripheral.id.rawValue),
                "reason": .optional(error) { .string(($0.disconnectReason?.rawValue ?? $0.code.rawValue)) },
                "message": .optional(error) { .string($0.message) },
                "retryAfter": .optional(seconds) { .double($0) },
            ]),
            [
                output.paint(event.padded(to: 15), event == "connected" ? .green : error == nil ? .dim : .red),
                error?.message.harmless, seconds.map { "again in \($0) s" },
            ].compactMap { $0 }.joined(separator: "  "))
    }
}
