import ArgumentParser
import BLE

struct ChannelCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "channel", abstract: "Exchange packets over an L2CAP channel, like netcat.",
        discussion: """
            Each line on standard input is a packet in hexadecimal, and so is each line of the output. With --raw, \
            both are bytes, and the input is divided into packets of the maximum length. The end of the input does not \
            end the channel: the other side, Ctrl-C or --count does. If the other side ends the channel before all \
            input was sent, or violates the protocol, the exit status is 15.

            A packet is counted as sent when it has left this machine, and also if the other side ends the channel \
            within about a second after the system has accepted the packet, because the system then does not report \
            whether the packet has left. Exit status 0 therefore does not mean that the other side has received the \
            last packet: let the other side answer, and count the answers with --count.

            With --listen, --pairing requires --yes or the capability no-input-no-output: questions cannot be \
            answered, because the channel sends standard input.
            """)

    @OptionGroup var options: CommonOptions
    @OptionGroup var pairing: PairingOptions

    @Argument(help: idHelp, completion: .peripherals)
    var id: String?

    @Flag(help: "Accept one channel of a central instead: advertise, and publish the number.")
    var listen = false

    @Option(
        help: ArgumentHelp(
            "The number, such as 0x0080. By default, the number that the peripheral publishes, or a free one.",
            valueName: "number"), transform: PSM.init(argument:))
    var psm: PSM?

    @Option(help: ArgumentHelp("open, encrypted or authenticated.", valueName: "level"))
    var security = SecurityArgument.open

    @Option(help: ArgumentHelp("The maximum length of a received packet, 23 to 65535 bytes.", valueName: "bytes"))
    var length = 2048

    @Option(help: ArgumentHelp("The name to advertise with --listen.", valueName: "text"))
    var name = "Channel"

    @Option(help: ArgumentHelp("End after this number of received packets.", valueName: "n"))
    var count: Int?

    @Flag(help: "Bytes instead of lines of hexadecimal.")
    var raw = false

    func validate() throws {
        try checkCount(count)
        guard (id == nil) == listen else {
            throw ValidationError("Use either a peripheral to connect to, or --listen.")
        }
        guard listen || pairing.pairing == nil else {
            throw ValidationError(
                "--pairing answers centrals and requires --listen. To pair with a peripheral: ble pair.")
        }
        guard !pairing.mayAsk else {
            throw ValidationError(
                "The channel sends standard input, so that questions of a pairing cannot be answered: "
                    + "add --yes, or use --pairing no-input-no-output.")
        }
        guard 23...65535 ~= length else { throw ValidationError("--length is a number from 23 to 65535.") }
        guard !raw || !options.json else { throw ValidationError("--raw and --json cannot be combined.") }
    }

    /// Returns the number that the peripheral publishes.
    private static func publishedPSM(of peripheral: Peripheral) async throws(BLEError) -> PSM {
        do throws(BLEError) {
            return try await peripheral.read(.publishedPSM)
        } catch {
            var error = error
            if error.code == .characteristicNotFound {
                error.message = "the peripheral does not publish the number of a channel"
                error.remedy = "Specify the number, such as --psm 0x0080."
            }
            throw error
        }
    }

    func run() async throws {
        let exchange = ChannelExchange(isRaw: raw, count: count)
        let (psm, security, length, timeout) = (psm, security.level, length, options.timeoutDuration)
        if let id {
            try await Session.run(options) { central, output in
                let peripheral = try await Finder(central: central, output: output, timeout: timeout).find(id)
                let channel = try await output.progress.during("Opening a channel to \(peripheral)") {
                    let number = if let psm { psm } else { try await Self.publishedPSM(of: peripheral) }
                    return try await peripheral.openChannel(number, security: security, maximumReceiveLength: length)
                }
                try await exchange.run(channel, output.about(peripheral))
            }
        } else {
            let (name, agent) = (name, pairing.makeAgent(json: options.json)?.agent)
            let warning = pairing.warning(
                ifRequired: security != .open, isAuthenticated: security == .authenticated)
            try await Session.serve(options, pairing: agent, shares: false) { host, output in
                if let warning { output.note("warning: \(warning)") }
                let listener = try await host.publishChannel(psm, security: security, maximumReceiveLength: length)
                let definition = PeripheralDefinition(
                    advertisement: Advertisement(localName: name),
                    services: [
                        ServiceDefinition(
                            Self.service,
                            characteristics: [try CharacteristicDefinition(.publishedPSM, [.read], value: listener.psm)]
                        )
                    ])
                try await host.withServed(definition) { _ in
                    output.note("accepting a channel at \(listener.psm) as \(name); Ctrl-C ends")
                    for try await channel in listener {
                        // Further channels are refused, so that they do not wait without a reader.
                        listener.close()
                        try await exchange.run(channel, output)
                        break
                    }
                }
            }
        }
    }

    /// The service in which this command publishes the number.
    private static let service = BluetoothUUID("0D4BFE2A-6F3C-4C8E-9B6A-2F1A6C9E7D10")!
}

/// A level of security on the command line.
enum SecurityArgument: String, ExpressibleByArgument, CaseIterable {
    case open, encrypted, authenticated

    var level: AttributeSecurity {
        switch self {
        case .open: .open
        case .encrypted: .encrypted
        case .authenticated: .authenticated
        }
    }
}

extension PSM {
    /// A number on the command line, decimal or, with 0x, hexadecimal.
    fileprivate init(argument text: String) throws {
        let isHexadecimal = text.lowercased().hasPrefix("0x")
        let number = isHexadecimal ? UInt16(text.dropFirst(2), radix: 16) : UInt16(text)
        guard let number, PSM.valid ~= PSM(rawValue: number) else {
            throw ValidationError("\"\(text)\" is not the number of a channel: 1 to 255, or 0x01 to 0xff.")
        }
        self.init(rawValue: number)
    }
}
