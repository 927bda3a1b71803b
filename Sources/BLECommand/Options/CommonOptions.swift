import ArgumentParser
import BLE
import BLEBlueZ
import BLERecording
import BLESimulation
import FoundationEssentials
import Logging

enum BackendName: String, ExpressibleByArgument, CaseIterable {
    case bluez
    case simulated
}

/// The options of all commands.
struct CommonOptions: ParsableArguments {
    @Option(help: "bluez, or simulated: a strap, a lamp, a weather station, beacons and others in memory.")
    var backend = BackendName.bluez

    @Option(help: ArgumentHelp("The adapter; by default, the first that is switched on.", valueName: "hciN"))
    var adapter: String?

    @Option(
        help: ArgumentHelp(
            "One of several radios, in place of --adapter: hci1, or esphome://HOST[:PORT][?key-file=PATH] for a "
                + "Bluetooth proxy of ESPHome; repeatable.", valueName: "radio"),
        transform: RadioArgument.init(named:))
    var radio: [RadioArgument] = []

    @Option(help: ArgumentHelp("The bus that bluetoothd is on; by default, the system bus.", valueName: "address"))
    var bus: String?

    @Flag(
        help: "Scan with the kernel's management socket, which needs the capability CAP_NET_ADMIN.")
    var managementSocket = false

    @Option(
        help: ArgumentHelp(
            "The maximum time for each step: finding, connecting, an operation.", valueName: "seconds"))
    var timeout = 20.0

    @Option(help: ArgumentHelp("Record everything between this command and Bluetooth.", valueName: "file"))
    var record: String?

    @Option(help: ArgumentHelp("Simulate the peripherals of a recording.", valueName: "file"))
    var replay: String?

    /// Read before the command line is parsed, because its arguments can have these names: see ``VendorFiles``.
    @Option(
        help: ArgumentHelp(
            "Know the names and layouts in a vendor's definition in JSON; repeatable. So are those of BLE_VENDOR, "
                + "paths separated by colons.", valueName: "file"), completion: .file())
    var vendor: [String] = []

    @Flag(help: "JSON Lines instead of text.")
    var json = false

    @Flag(name: .shortAndLong, help: "Log to standard error; -vv also logs each operation and value.")
    var verbose: Int

    func validate() throws {
        _ = try Self.duration(timeout)
        guard replay == nil || (adapter == nil && bus == nil && radio.isEmpty) else {
            throw ValidationError("--replay needs no Bluetooth: remove --adapter, --radio and --bus.")
        }
        guard !managementSocket || (backend == .bluez && replay == nil) else {
            throw ValidationError("--management-socket is for an adapter: remove --backend and --replay.")
        }
        guard !managementSocket || bus == nil else {
            throw ValidationError("--management-socket is for this machine's bluetoothd: remove --bus.")
        }
        guard !managementSocket || radio.isEmpty || radio.contains(where: \.isAdapter) else {
            throw ValidationError("--management-socket is for an adapter: add one, such as --radio hci0.")
        }
        guard radio.isEmpty || (adapter == nil && record == nil) else {
            throw ValidationError("--radio is for several radios: remove --adapter and --record.")
        }
        guard Set(radio.map(\.name)).count == radio.count else {
            throw ValidationError("--radio names a radio twice.")
        }
        if let replay, let record, replay == record || RecordingFile.isSame(replay, record) {
            throw ValidationError("--replay and --record are the same file.")
        }
    }

    /// The options that take a value.
    static let valued = ["--backend", "--adapter", "--radio", "--bus", "--timeout", "--record", "--replay", "--vendor"]

    /// Returns the number of words, 0 to 2, that the option at the beginning of a line has, if it is one of these
    /// options.
    static func length(at words: ArraySlice<String>) -> Int {
        guard let word = words.first else { return 0 }
        if valued.contains(word) { return min(2, words.count) }
        let isAlone =
            ["--verbose", "--json", "--management-socket"].contains(word) || word.wholeMatch(of: /-v+/) != nil
            || valued.contains { word.hasPrefix("\($0)=") }
        return isAlone ? 1 : 0
    }

    /// Returns those of these options that are among the words of a line, with their values. Nothing after a double
    /// hyphen is an option, and neither is the text after `--text`.
    static func given(in words: [String]) -> [(name: String, words: ArraySlice<String>)] {
        var (given, rest) = ([(name: String, words: ArraySlice<String>)](), words[...])
        while let word = rest.first, word != "--" {
            let length = length(at: rest)
            if length > 0 {
                let name = word.hasPrefix("--") ? String(word.prefix { $0 != "=" }) : "--verbose"
                given.append((name, rest.prefix(length)))
            }
            rest = rest.dropFirst(word == "--text" ? 2 : max(1, length))
        }
        return given
    }

    var timeoutDuration: Duration { .milliseconds(Int64(timeout * 1000)) }

    /// Returns the duration for a value of `--timeout`. Throws `ValidationError` for a number out of range.
    static func duration(_ timeout: Double) throws -> Duration {
        guard timeout > 0, timeout <= 86_400 else {
            throw ValidationError("--timeout is a number of seconds above 0, at most 86400.")
        }
        return .milliseconds(Int64(timeout * 1000))
    }

    /// Returns a logger to standard error. Each `--verbose` makes it more verbose.
    static func logger(verbose: Int) -> Logger {
        // The time in the log handler's output has no fractions of a second.
        let clock = CommandClock.stopwatch()
        let time = Logger.MetadataProvider { ["at": "\(clock())"] }
        var logger = Logger(label: "ble") { StreamLogHandler.standardError(label: $0, metadataProvider: time) }
        logger.logLevel = verbose == 0 ? .warning : verbose == 1 ? .debug : .trace
        return logger
    }

    /// Creates the recorder that the options ask for.
    func makeRecorder() throws(BLEError) -> Recorder? {
        guard let record else { return nil }
        return try Recorder(path: record)
    }

    /// Creates a central according to the options.
    ///
    /// - Parameters:
    ///   - waits: whether to wait until Bluetooth is available.
    ///   - onWait: told why it is waited for, once for each reason.
    func makeCentral(
        pairing: PairingBehavior = .justWorks, waits: Bool = false, policy: ConnectionPolicy = .manual,
        recorder: Recorder? = nil, onWait: @escaping @Sendable (BLEError) -> Void = { _ in }
    ) async throws -> Central {
        var made = Central.Configuration(
            connectionPolicy: policy, connectTimeout: timeoutDuration, operationTimeout: timeoutDuration,
            clock: CommandClock.current,
            waitsForBluetooth: waits, logger: Self.logger(verbose: verbose), pairing: pairing)
        made.onWait = onWait
        let configuration = made
        func central(_ backend: some CentralBackend) async throws -> Central {
            guard let recorder else { return try await Central(backend: backend, configuration: configuration) }
            return try await Central(backend: .recording(backend, to: recorder), configuration: configuration)
        }
        if let replay {
            let radio = try await SimulatedRadio(
                replaying: RecordingFile.read(replay), clock: CommandClock.current, logger: configuration.logger)
            return try await central(.simulated(radio))
        }
        guard radio.isEmpty else {
            return try await Central(severalRadios: await radios(configuration), configuration: configuration)
        }
        switch backend {
        case .bluez:
            return try await central(.bluez(adapter: adapter, bus: bus, advertisements: advertisementSource))
        case .simulated:
            if let shared = try SharedRadio.address() {
                return try await central(.bluez(adapter: adapter, bus: shared))
            }
            return try await central(.simulated(await SimulatedRadio.demonstration(logger: configuration.logger)))
        }
    }

    private var advertisementSource: BlueZCentral.AdvertisementSource {
        managementSocket ? .managementSocket : .bluetoothd
    }

    /// Returns the radios of `--radio`. Those of a simulation hear the same peripherals.
    private func radios(_ configuration: Central.Configuration) async throws -> [Radio] {
        var (bus, simulated) = (bus, SimulatedRadio?.none)
        if backend == .simulated {
            if let shared = try SharedRadio.address() {
                bus = shared
            } else {
                let radio = await SimulatedRadio.demonstration(logger: configuration.logger)
                for case .adapter(let id) in self.radio where id != "hci0" { await radio.addAdapter(id) }
                simulated = radio
            }
        }
        var radios: [Radio] = []
        for argument in radio {
            radios.append(try await argument.radio(bus: bus, advertisementSource, simulated: simulated))
        }
        return radios
    }

    /// The number of peripherals that will ever be in range: those of a radio of this command's own. Nil if it is not
    /// known.
    var numberInRange: Int? {
        guard backend == .simulated, replay == nil, case .some(.none) = try? SharedRadio.address() else { return nil }
        return SimulatedRadio.demonstrationCount
    }

    /// Creates a host according to the options.
    ///
    /// - Parameters:
    ///   - pairing: answers the pairings that centrals begin. Nil if another program answers them.
    ///   - place: the adapter on the shared radio. Nil if the host has a radio of its own.
    func makeHost(
        pairing: PairingAgent? = nil, recorder: Recorder? = nil, on place: SharedRadio.Place? = nil
    ) async throws -> PeripheralHost {
        guard radio.isEmpty else {
            throw ValidationError("A peripheral is served on one adapter: --adapter in place of --radio.")
        }
        guard !managementSocket else {
            throw ValidationError("--management-socket is for scans: remove it.")
        }
        let configuration = PeripheralHost.Configuration(
            pairing: pairing, clock: CommandClock.current, logger: Self.logger(verbose: verbose))
        func host(_ backend: some PeripheralBackend) async throws -> PeripheralHost {
            guard let recorder else { return try await PeripheralHost(backend: backend, configuration: configuration) }
            return try await PeripheralHost(backend: .recording(backend, to: recorder), configuration: configuration)
        }
        switch backend {
        case .bluez: return try await host(.bluez(adapter: adapter, bus: bus))
        case .simulated:
            if let place { return try await host(.bluez(adapter: place.adapter, bus: place.address)) }
            return try await host(
                .simulated(SimulatedRadio(clock: CommandClock.current, logger: configuration.logger)))
        }
    }
}
