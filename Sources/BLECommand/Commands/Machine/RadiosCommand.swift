import ArgumentParser
import BLE
import BLEDefinitions

struct RadiosCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "radios", abstract: "Show several radios, what each hears, and which a link would be made with.",
        discussion: """
            Listens for 10 s by default. Without --radio and --adapter, the radios are all adapters of this machine, \
            or two of a simulation. Of each peripheral, the radios are in the order in which they would be tried; one \
            with an obstacle would not. Docs/Radios.md has the rules of the score.

            With --find, lists the devices with ESPHome in the network, of which Bluetooth proxies can be radios. \
            Avahi finds them.
            """)

    @OptionGroup var options: CommonOptions

    @Argument(help: ArgumentHelp("Only the peripheral with this address.", valueName: "id"), completion: .peripherals)
    var id: String?

    @Option(help: ArgumentHelp("How long to listen.", valueName: "seconds"))
    var duration = 10.0

    @Flag(help: "List devices in the network that may be Bluetooth proxies, in place of radios.")
    var find = false

    func validate() throws {
        if find {
            guard id == nil, options.radio.isEmpty, options.adapter == nil, options.backend == .bluez else {
                throw ValidationError("--find needs no Bluetooth: remove ID, --radio, --adapter and --backend.")
            }
            #if !DeviceCommands
                throw ValidationError("--find: this program was built without the trait DeviceCommands.")
            #endif
        }
        guard duration > 0, duration <= 86_400 else {
            throw ValidationError("--duration is a number of seconds above 0, at most 86400.")
        }
        guard options.record == nil, options.replay == nil else {
            throw ValidationError("A recording has one radio: remove --record and --replay.")
        }
        guard id == nil || Peripheral.ID(rawValue: id ?? "").isAddress else {
            throw ValidationError("ID is the address of a peripheral, such as F0:F1:F2:F3:F4:F5.")
        }
    }

    func run() async throws {
        let duration = Duration.milliseconds(Int64(duration * 1000))
        #if DeviceCommands
            if find { return try await Self.find(for: duration, options) }
        #endif
        let id = id.map { Peripheral.ID(address: $0) }
        let work = { @Sendable (central: Central, output: Output) in
            try await Self.run(for: duration, id, central, output)
        }
        if Session.host != nil { return try await Session.run(options, outage: .isNothing, work) }
        try await Session.run(
            Output(json: options.json), outage: .isNothing,
            open: { [options] in (try await Self.chosen(options).makeCentral(), nil) }, work: work)
    }

    private static func run(
        for duration: Duration, _ id: Peripheral.ID?, _ central: Central, _ output: Output
    ) async throws {
        guard !central.radioNames.isEmpty else {
            throw BLEError(
                .invalidArgument, "this program does not use several radios", isRetryable: false,
                remedy: "Start it with --radio, once for each.")
        }
        // The radios still scan when they are shown. A scan that fails ends the wait.
        let wait = Task { try await CommandClock.sleep(for: duration) }
        let scan = Task {
            defer { wait.cancel() }
            for try await _ in central.discoveryEvents(staleAfter: nil) {}
        }
        defer { scan.cancel() }
        try await output.progress.during("Listening", limit: duration) {
            await withTaskCancellationHandler {
                _ = await wait.result
            } onCancel: {
                wait.cancel()
            }
            try Task.checkCancellation()
        }
        try await show(central, id, output)
        scan.cancel()
        if case .failure(let error as BLEError) = await scan.result, !error.isCancellation { throw error }
    }

    /// Returns the options with radios, if there are none.
    private static func chosen(_ options: CommonOptions) async throws -> CommonOptions {
        var options = options
        guard options.radio.isEmpty else { return options }
        if let adapter = options.adapter {
            options.radio = [.adapter(adapter)]
        } else if options.backend == .simulated {
            options.radio = [.adapter("hci0"), .adapter("hci1")]
        } else {
            let central = try await options.makeCentral()
            let adapters = await Result { try await central.adapters() }
            await central.shutDown()
            options.radio = try adapters.get().map { .adapter($0.id) }
        }
        options.adapter = nil
        return options
    }

    // MARK: Output

    private static func show(_ central: Central, _ id: Peripheral.ID?, _ output: Output) async throws {
        let radios = await central.radios
        let width = max(5, radios.map(\.name.columns).max() ?? 0)
        try output.text(output.paint("\("RADIO".padded(to: width))  STATE        SCANS  HEARD  SLOTS  NOTE", .bold))
        for radio in radios { try show(radio, width, output) }
        var known = await central.knownPeripherals().filter { id == nil || $0.id == id }
        if let id, known.isEmpty {
            known = [KnownPeripheral(id: id, advertisement: Advertisement(), isConnected: false)]
        }
        try output.text("")
        try output.text(
            output.paint(
                "ID                 \("RADIO".padded(to: width))  RSSI     AGE  INTERVAL  SCORE  OBSTACLE       NAME",
                .bold))
        for peripheral in known.sorted(by: { $0.id < $1.id }) {
            let name = peripheral.advertisement.localName
            let paths = await central.peripheral(peripheral.id).radioPaths
            for (rank, path) in paths.enumerated() where id != nil || path.age != nil {
                try show(path, rank, peripheral.id, name, width, output)
            }
        }
    }

    private static func show(_ radio: RadioStatus, _ width: Int, _ output: Output) throws {
        let obstacle = radio.obstacle ?? radio.scanObstacle
        let note = obstacle?.message ?? (radio.isSilent ? "hears nothing" : "")
        try output.line(
            .object([
                "kind": "radio", "radio": .string(radio.name), "state": .string(radio.state.rawValue),
                "reason": .optional(radio.obstacle?.message),
                "isScanning": .bool(radio.isScanning),
                "scanObstacle": .optional(radio.scanObstacle?.message), "isSilent": .bool(radio.isSilent),
                "ageSeconds": seconds(radio.age), "freeSlots": .optional(radio.freeSlots) { .int($0) },
            ]),
            [
                radio.name.harmless.padded(to: width), radio.state.rawValue.padded(to: 11),
                (radio.isScanning ? "yes" : "no").padded(to: 5), text(radio.age).paddedLeft(to: 5),
                (radio.freeSlots.map { "\($0)" } ?? "-").paddedLeft(to: 5), note.harmless,
            ].joined(separator: "  "))
    }

    private static func show(
        _ path: RadioPath, _ rank: Int, _ id: Peripheral.ID, _ name: String?, _ width: Int, _ output: Output
    ) throws {
        try output.line(
            .object([
                "kind": "path", "id": .string(id.rawValue), "name": .optional(name), "radio": .string(path.radio),
                "rank": .int(rank + 1), "rssi": .optional(path.rssi) { .int($0) }, "ageSeconds": seconds(path.age),
                "intervalSeconds": seconds(path.interval), "freeSlots": .optional(path.freeSlots) { .int($0) },
                "score": .int(path.score), "obstacle": .optional(path.obstacle?.rawValue),
            ]),
            [
                id.rawValue.padded(to: 17), path.radio.harmless.padded(to: width),
                (path.rssi.map { "\($0)" } ?? "-").paddedLeft(to: 4), text(path.age).paddedLeft(to: 6),
                text(path.interval).paddedLeft(to: 8), "\(path.score)".paddedLeft(to: 5),
                (path.obstacle?.rawValue ?? "-").padded(to: 13), (name ?? "").harmless,
            ].joined(separator: "  "))
    }

    private static func value(_ duration: Duration) -> Double { ((duration / .milliseconds(1))).rounded() / 1000 }

    private static func seconds(_ duration: Duration?) -> JSON { .optional(duration) { .double(value($0)) } }

    /// The duration in seconds, with one decimal place.
    private static func text(_ duration: Duration?) -> String {
        duration.map { "\((value($0) * 10).rounded() / 10)s" } ?? "-"
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ work: () async throws -> Success) async {
        do { self = .success(try await work()) } catch { self = .failure(error) }
    }
}
