import BLE
import BLEProfiles

/// Shows the values of a service as they come: a table on a terminal, otherwise a line each.
actor LiveView {
    private let peripheral: Peripheral
    private let sources: [LiveSource]
    private let output: Output
    private var table = LiveTable()
    private var received = 0
    /// How many lines of the terminal the table has.
    private var height = 0

    /// Discovers the service, every instance of it. Throws `serviceNotFound`.
    init(of service: BluetoothUUID, on peripheral: Peripheral, _ output: Output) async throws(BLEError) {
        (self.peripheral, self.output) = (peripheral, output)
        _ = try await PeripheralService(service, on: peripheral).discovered()
        var sources: [LiveSource] = []
        for found in try await peripheral.services() where found.uuid == service {
            for characteristic in found where LiveSource.isShown(characteristic) {
                sources.append(try await LiveSource(characteristic, on: peripheral))
            }
        }
        self.sources = sources
        for source in sources { table.add(source.characteristic.handle, source.title) }
    }

    /// Reads what can be read, then shows what is notified until `count` values have come, or for ever; where nothing is notified,
    /// it is all read once, or each time that `every` has passed.
    func run(count: Int?, every: Duration?) async throws {
        // (first listening, then reading: nothing is missed in between)
        var streams: [(LiveSource, NotificationStream<[UInt8]>)] = []
        for source in sources where source.isNotified {
            let key = source.characteristic.key
            streams.append((source, try await peripheral.notifications(key, overflow: .dropOldest(capacity: 4096))))
        }
        try await readAll()
        guard !streams.isEmpty || every != nil else { return }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (source, stream) in streams {
                group.addTask {
                    for try await event in stream.events where try await self.take(event, source, count) { return }
                }
            }
            if let every {
                group.addTask {
                    while true {
                        try await Task.sleep(for: every)
                        try await self.readAll()
                    }
                }
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private func readAll() async throws {
        for source in sources where source.isRead {
            switch await read(source) {
            case .success(let bytes): try show(bytes, source)
            // (one that is refused does not keep the others from being shown)
            case .failure(let error) where Self.refusals.contains(error.code): try show(error, source)
            case .failure(let error): throw error
            }
        }
    }

    private static let refusals: Set<BLEError.Code> = [.attributeError, .notPermitted, .pairingRequired, .notSupported]

    private func read(_ source: LiveSource) async -> Result<[UInt8], BLEError> {
        do throws(BLEError) {
            return .success(try await peripheral.read(source.characteristic.key))
        } catch {
            return .failure(error)
        }
    }

    /// Shows what was notified; true for the last.
    private func take(_ event: NotificationEvent<[UInt8]>, _ source: LiveSource, _ count: Int?) throws -> Bool {
        switch event {
        case .gap(let error):
            try output.gap(error)
            return false
        case .value(let bytes):
            if let count, received >= count { return true }
            received += 1
            try show(bytes, source)
            return received == count
        }
    }

    private func show(_ bytes: [UInt8], _ source: LiveSource) throws(any Error) {
        let value = ShownValue(bytes, source.format, guessing: false)
        if let fields = value.fields {
            table.update(source.characteristic.handle, fields)
        } else {
            table.update(source.characteristic.handle, value.plainText)
        }
        try show(value.json, value.plainText, source)
    }

    private func show(_ error: BLEError, _ source: LiveSource) throws(any Error) {
        table.update(source.characteristic.handle, error.message)
        try show(["error": .string(error.message)], error.message, source)
    }

    private func show(_ json: [String: JSON], _ text: String, _ source: LiveSource) throws(any Error) {
        if let terminal = output.terminalSize {
            let lines = table.lines(width: terminal.columns).prefix(terminal.rows - 1)
            defer { height = lines.count }
            return try output.rewrite(Array(lines), over: min(height, terminal.rows - 1))
        }
        let keys: [String: JSON] = [
            "uuid": .string(source.characteristic.uuid.description),
            "handle": .int(Int(source.characteristic.handle)), "name": .string(source.title),
        ]
        try output.line(.object(keys.merging(json) { $1 }), "\(source.title): \(text)")
    }
}
