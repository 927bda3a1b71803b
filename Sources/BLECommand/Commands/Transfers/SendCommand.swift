import ArgumentParser
import BLE
import BLEDefinitions
import BLETransfers
import FoundationEssentials

struct SendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send", abstract: "Send a file to a peripheral that receives files.",
        discussion: """
            A transfer that was interrupted goes on with the same command: only what the peripheral lacks is sent. It \
            survives lost links, too. ble serve receiver is such a peripheral. Docs/Transfers.md describes the protocol.
            """)

    @OptionGroup var options: CommonOptions

    @Argument(help: idHelp, completion: .peripherals)
    var id: String

    @Argument(help: "The file.", completion: .file())
    var file: String

    @Option(help: ArgumentHelp("The name that the peripheral receives, instead of the file's.", valueName: "text"))
    var name: String?

    @Flag(help: "Send over the L2CAP channel that the peripheral publishes, which is faster.")
    var channel = false

    func validate() throws {
        guard name.map(TransferFile.isValid(name:)) ?? true else {
            throw ValidationError(
                "--name has 1 to \(TransferFile.maximumNameLength) bytes, and no control characters.")
        }
    }

    func run() async throws {
        let bytes = try await Self.read(file)
        let name = name ?? URL(filePath: file).lastPathComponent
        guard TransferFile.isValid(name: name) else {
            throw ValidationError("\(file) has a name that cannot be sent: use --name.")
        }
        let (id, timeout, carrier) = (
            id, options.timeoutDuration, channel ? TransferCarrier.publishedChannel : .characteristics
        )
        try await Session.run(options) { central, output in
            let peripheral = try await Finder(central: central, output: output, timeout: timeout).find(id)
            let sending = Sending(
                client: TransferClient(peripheral, over: carrier), output: output.about(peripheral),
                clock: CommandClock.current)
            do {
                try await sending.send(bytes, as: name)
            } catch let error as BLEError where carrier == .publishedChannel {
                throw Self.withRemedy(error)
            }
        }
    }

    /// Returns an error of a transfer over a channel. Without the channel, the characteristics remain.
    private static func withRemedy(_ error: BLEError) -> BLEError {
        var error = error
        switch error.code {
        case .characteristicNotFound:
            error.remedy =
                "The peripheral publishes no channel. Send without --channel, over its characteristics, which is "
                + "slower."
        case .invalidValue:
            error.remedy =
                "The number of the channel that it publishes is not valid. Send without --channel, over its "
                + "characteristics."
        case .channelRefused:
            error.remedy =
                "Check that it still receives files and whether it wants to be paired (ble pair), or send without "
                + "--channel, over its characteristics."
        case .notSupported, .unauthorized:
            error.remedy = [error.remedy, "Or send without --channel, over the characteristics."]
                .compactMap(\.self).joined(separator: " ")
        default: break
        }
        return error
    }

    private static func read(_ path: String) async throws -> [UInt8] {
        do {
            return try await InputFile.read(path, limit: TransferFile.maximumLength)
        } catch let error as InputFile.Failure {
            throw ValidationError("\(path) \(error).")
        }
    }
}

/// Sends a file, and shows its progress.
private struct Sending {
    let client: TransferClient
    let output: Output
    let clock: any Clock<Duration>

    /// How many failures in a row a transfer survives.
    private static let reconnects = 10

    func send(_ bytes: [UInt8], as name: String) async throws {
        let stopwatch = clock.stopwatch()
        var meter = TransferMeter("Sending", total: bytes.count)
        var resumed = 0
        var isFirst = true
        defer { output.progress.clear() }
        for try await progress in client.send(bytes, as: name, reconnects: Self.reconnects) {
            if isFirst { (resumed, isFirst) = (progress.resumedBytes, false) }
            meter.take(progress.transferredBytes, at: stopwatch())
            output.progress.show(meter.line)
        }
        output.progress.clear()
        let seconds = stopwatch() / .seconds(1)
        let text = "\((seconds * 10).rounded() / 10) s"
        try output.line(
            .object([
                "event": .string("sent"), "name": .string(name), "bytes": .int(bytes.count),
                "resumedBytes": .int(resumed), "seconds": .double((seconds * 1000).rounded() / 1000),
            ]),
            resumed == 0
                ? "sent \(bytes.count) bytes in \(text)"
                : resumed == bytes.count
                    ? "the peripheral has the file already"
                    : "sent the last \(bytes.count - resumed) of \(bytes.count) bytes in \(text)")
    }
}
