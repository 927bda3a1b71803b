import BLEDefinitions

#if Gateway
    import ArgumentParser
    import BLE
    import BLERecording
    import FoundationEssentials

    struct HistoryCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "history", abstract: "Show what a gateway has recorded, as CSV.",
            discussion: """
                The configuration of a gateway names the file; see Docs/Gateway.md. The gateway may run meanwhile. \
                Times are in UTC. A text that begins with =, +, - or @ has an apostrophe before it, so that a \
                spreadsheet does not take it for a formula; with --json, it does not. Does not use Bluetooth.
                """)

        @Option(help: ArgumentHelp("The file of the history.", valueName: "file"))
        var file: String

        @Option(
            help: ArgumentHelp(
                "Only this device: its address, its name, or its name in the list.", valueName: "device"))
        var device: String?

        @Option(help: ArgumentHelp("Only this value, such as temperature, or rssi.", valueName: "name"))
        var field: String?

        @Option(help: ArgumentHelp("Only the last hours; otherwise, all.", valueName: "number"))
        var hours: Double?

        @Flag(help: "JSON Lines instead of CSV.")
        var json = false

        @Flag(name: .shortAndLong, help: "Accepted for consistency with other commands, without effect.")
        var verbose: Int

        func validate() throws {
            guard hours.map({ (0...1_000_000).contains($0) }) ?? true else {
                throw ValidationError("--hours is a number from 0 to 1000000.")
            }
        }

        func run() async throws {
            let output = Output(json: json)
            let (file, field, hours) = (file, field, hours)
            let device = device.map { text in
                Hex.bytes(text)?.count == 6 ? GatewayTopics.device(Peripheral.ID(rawValue: text)) : text
            }
            try await Session.finish(output) {
                do {
                    try await Self.show(
                        file, HistoryFile.Selection(device: device, field: field), hours: hours, output)
                } catch  where !(error is OutputClosed || error is ExitCode || error is CancellationError) {
                    throw BLEError(
                        .recordingFailed, "“\(file)” \(HistoryFile.reason(error))", isRetryable: false)
                }
            }
        }

        private static func show(
            _ path: String, _ selection: HistoryFile.Selection, hours: Double?, _ output: Output
        ) async throws {
            let file = try await HistoryFile.open(path, for: .reading)
            if selection != HistoryFile.Selection(), try await !file.has(selection) {
                output.note("nothing of that device or value is recorded")
                throw ExitCode(ExitStatus.nothingFound)
            }
            let start = hours.map { Int64(Date.now.timeIntervalSince1970 - $0 * 3600) } ?? 0
            var position: Int64? = HistoryFile.position(of: start)
            try output.text("time,device,entry,name,field,value,unit\r")
            while let next = position {
                let page = try await file.page(from: next, selection)
                if output.json {
                    for sample in page.samples { try output.line(sample.json, "") }
                } else {
                    try output.bytes(Array(page.samples.map(\.csv).joined().utf8))
                }
                position = page.next
            }
        }
    }

    extension Sample {
        private var time: String { Output.time(Date(timeIntervalSince1970: Double(second))) }

        fileprivate var csv: String {
            let value = if case .text(let text) = value { CSV.cell(text) } else { value.json.text }
            return CSV.line(
                [time] + [device, entry, name, field].map(CSV.cell) + [value, unit.map(CSV.cell) ?? ""])
        }

        fileprivate var json: JSON {
            .object([
                "time": .string(time), "id": .optional(address), "device": .string(device), "entry": .string(entry),
                "name": .string(name), "field": .string(field), "value": value.json, "unit": .optional(unit),
            ])
        }

        /// Nil for a device with private addresses.
        private var address: String? {
            guard let bytes = Hex.bytes(device), bytes.count == 6 else { return nil }
            return bytes.map { Hex.string([$0]).uppercased() }.joined(separator: ":")
        }
    }
#endif
