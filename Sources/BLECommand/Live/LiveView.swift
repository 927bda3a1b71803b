import BLE
import BLEDefinitions
import BLEProfiles

/// Shows the values of a service as they arrive: in a table on a terminal, otherwise one per line.
actor LiveView {
    private let peripheral: Peripheral
    private let sources: [LiveSource]
    private let output: Output
    private var table = LiveTable()
    private let received = ReceivedValues()

    /// Discovers all instances of the service. Throws `serviceNotFound`.
    init(of service: BluetoothUUID, on peripheral: Peripheral, _ output: Output) async throws(BLEError) {
        (self.peripheral, self.output) = (peripheral, output)
        _ = try await PeripheralService(service, on: peripheral).discover()
        var sources: [LiveSource] = []
        for found in try await peripheral.services() where found.uuid == service {
            for characteristic in found where LiveSource.isShown(characteristic) {
                sources.append(try await LiveSource(characteristic, on: peripheral))
            }
        }
        self.sources = sources
        for source in sources { table.add(source.characteristic.handle, source.shownTitle) }
    }

    /// Reads all readable values, then shows notifications. With `every`, also reads at that interval.
    ///
    /// If nothing notifies and `every` is nil, it returns after reading once.
    ///
    /// - Parameters:
    ///   - count: the number of notified values, or of rounds of reading if none are notified, after which it returns.
    ///     Nil for no limit.
    ///   - silence: the time without a notified value after which `timedOut` is thrown, if there is a count; at least
    ///     one interval of reading. Nil for no limit.
    ///   - isMaintained: whether the end of the link during a read is shown as a gap instead of being thrown.
    func run(count: Int?, every: Duration?, silence: Duration?, isMaintained: Bool) async throws {
        let streams = try await subscribe()
        let hasStreams = !streams.isEmpty
        let goesOn = hasStreams || every != nil
        try await readAll(outlasting: isMaintained && goesOn)
        guard goesOn else { return }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (source, stream) in streams {
                group.addTask {
                    for try await event in stream.events where try await self.take(event, source, count) { return }
                }
            }
            if let silence, let count, hasStreams {
                let (received, peripheral) = (received, peripheral)
                group.addTask {
                    try await received.waitForSilence(
                        of: peripheral, for: max(silence, every ?? .zero), wanted: count, isCounting: every == nil)
                }
            }
            if let every {
                group.addTask {
                    var rounds = 1
                    while true {
                        // Characteristics that notify have one interval to send their first value.
                        if hasStreams { try await CommandClock.sleep(for: every) }
                        if await self.isDone(afterRounds: rounds, count) { return }
                        if !hasStreams { try await CommandClock.sleep(for: every) }
                        try await self.readAll(outlasting: isMaintained)
                        rounds += 1
                    }
                }
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    /// Enables notifications before anything is read, so that no change is missed in between.
    private func subscribe() async throws -> [(LiveSource, NotificationStream<[UInt8]>)] {
        var streams: [(LiveSource, NotificationStream<[UInt8]>)] = []
        for source in sources where source.isNotified {
            let key = source.characteristic.key
            let stream = try await Result(of: peripheral) { () throws(BLEError) in
                try await peripheral.notifications(key.bytes, overflow: .dropOldest(capacity: 4096))
            }
            switch stream {
            case .success(let stream): streams.append((source, stream))
            // The other characteristics are shown even if this one refuses.
            case .failure(let error):
                try show(error, source)
                // In a table, the value that is read replaces the error.
                if source.isRead, output.terminalSize != nil { output.note("\(source.title): \(error.message)") }
            }
        }
        return streams
    }

    /// Reads all readable values once. Errors of single characteristics are shown in their place.
    ///
    /// - Parameter outlasting: whether the end of the link is shown as a gap. The remaining values are then read the
    ///   next time.
    private func readAll(outlasting: Bool) async throws {
        do {
            for source in sources where source.isRead {
                let key = source.characteristic.key
                switch try await Result(of: peripheral, { () throws(BLEError) in try await peripheral.read(key.bytes) })
                {
                case .success(let bytes): try show(bytes, source)
                case .failure(let error): try show(error, source)
                }
            }
        } catch let error as BLEError where outlasting && error.isOutlasted {
            try output.gap(error)
        }
    }

    /// Whether nothing is notified and the requested number of rounds was read.
    private func isDone(afterRounds rounds: Int, _ count: Int?) -> Bool {
        received.count == 0 && count.map { rounds >= $0 } ?? false
    }

    /// Shows a notified value. Returns true if it is the last one.
    private func take(_ event: NotificationEvent<[UInt8]>, _ source: LiveSource, _ count: Int?) throws -> Bool {
        switch event {
        case .gap(let error):
            try output.gap(error)
            return false
        case .value(let bytes):
            if let count, received.count >= count { return true }
            let number = received.add()
            try show(bytes, source)
            return number == count
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
        let message = error.message.harmless
        table.update(source.characteristic.handle, message)
        try show(ShownValue.json(error), message, source)
    }

    private func show(_ json: [String: JSON], _ text: String, _ source: LiveSource) throws(any Error) {
        if let terminal = output.terminalSize {
            return try output.rewrite(table.lines(width: terminal.columns, height: terminal.rows - 1))
        }
        let keys: [String: JSON] = [
            "uuid": .string(source.characteristic.uuid.description),
            "handle": .int(Int(source.characteristic.handle)), "name": .string(source.title),
        ]
        try output.line(.object(keys.merging(json) { $1 }), "\(source.shownTitle): \(text)")
    }
}
