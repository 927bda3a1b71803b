import BLE
import Dispatch
internal import Waiting

/// Shows a scan on a terminal, and reads the keys of the user if standard input is a terminal, too.
actor ScanView {
    private let output: Output
    private let terminal: KeyTerminal?
    private let now: @Sendable () -> Duration
    private var screen: ScanScreen
    private var parser = KeyParser()
    /// Ends a key that may be the beginning of another one.
    private var keyEnd: Task<Void, Never>?
    /// What was drawn last, and for which size. Nil if the next lines belong below everything on the terminal.
    private var drawn: (lines: [String], columns: Int, rows: Int)?
    /// The drawing that is being written. Output that the user has stopped delays it, but not events and keys.
    private var writing: Outcome<Void>?
    /// Whether the screen may have changed since ``writing`` began.
    private var isStale = false
    private var failure: (any Error)?

    /// The pause between two drawings, independent of the number of advertisements.
    private static let pause = Duration.milliseconds(250)
    /// The pause after which the program was stopped, or the machine slept: events have waited to be received.
    private static let stop = Duration.seconds(2)
    /// How long the last drawing may take.
    private static let patience = Duration.seconds(1)
    /// The number of unread events. More of them are missed only after a long suspension.
    static let capacity = 16_384

    /// - Parameter end: the time after which the scan ends if no key is pressed. Nil if it does not.
    init(_ output: Output, order: ScanTable.Order, end: Duration?) {
        self.output = output
        // In virtual time, the input is the time.
        terminal = CommandClock.isVirtual ? nil : KeyTerminal()
        now = CommandClock.elapsed(CommandClock.current)
        screen = Self.screen(order, hasKeys: terminal != nil, end: end, CommandClock.current)
    }

    private static func screen(
        _ order: ScanTable.Order, hasKeys: Bool, end: Duration?, _ clock: some Clock<Duration>
    ) -> ScanScreen {
        ScanScreen(order: order, hasKeys: hasKeys, end: end, clock: clock)
    }

    /// Shows the scan until the user quits, or until the time is up.
    func show(_ events: DiscoveryEvents) async throws {
        let result: Result<Void, any Error>
        do {
            result = .success(try await run(events))
        } catch {
            result = .failure(error)
        }
        // In a task of its own, because this one may be cancelled.
        await Task { await self.end() }.value
        try result.get()
    }

    private func run(_ events: DiscoveryEvents) async throws {
        try await withTaskCancellationHandler {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await self.follow(events) }
                group.addTask { try await self.redraw() }
                if terminal != nil { group.addTask { try await self.readKeys() } }
                defer { group.cancelAll() }
                try await group.next()
            }
        } onCancel: {
            // At once, because a second signal ends the process.
            terminal?.end()
        }
    }

    private func end() async {
        terminal?.end()
        keyEnd?.cancel()
        screen.finish()
        await waitForDrawing()
        // What stays on the terminal mentions no keys. If the output is closed or stopped, nothing stays.
        try? draw()
        await waitForDrawing()
    }

    /// Applies the events. If some were missed, losses may be among them: a new scan reports everything that is there.
    private func follow(_ events: DiscoveryEvents) async throws {
        var hasMissed: Bool
        repeat {
            hasMissed = false
            for try await event in events {
                screen.apply(event)
                hasMissed = events.droppedCount > 0
                if hasMissed { break }
            }
            try Task.checkCancellation()
            if hasMissed { screen.removeAll() }
        } while hasMissed
    }

    // MARK: Drawing

    private func redraw() async throws {
        while !screen.isOver {
            try draw()
            let start = now()
            try await CommandClock.sleep(for: Self.pause)
            if now() - start > Self.stop { screen.restartTraces() }
        }
    }

    /// Draws what has changed, unless a drawing is still being written.
    private func draw() throws {
        if let failure { throw failure }
        screen.readKeys(enter())
        isStale = writing != nil
        guard !isStale else { return }
        guard let (columns, rows) = output.terminalSize else { throw OutputClosed() }
        let lines = screen.lines(columns: columns, rows: rows, paint: output.paint)
        // Text that the user has marked stays marked while nothing changes.
        if let drawn, drawn.lines == lines, drawn.columns == columns, drawn.rows == rows { return }
        let (isBelow, output, outcome) = (drawn == nil, output, Outcome<Void>())
        drawn = (lines, columns, rows)
        writing = outcome
        DispatchQueue.global().async {
            if isBelow { output.leaveLines() }
            let result = Result { try output.rewrite(lines) }
            Task { await self.didWrite(result) }
        }
    }

    private func didWrite(_ result: Result<Void, any Error>) {
        if case .failure(let error) = result { failure = error }
        writing?.deliver(.success(()))
        writing = nil
        // If that fails, so does the next drawing.
        if isStale { try? draw() }
    }

    /// Returns when the drawing is written, or once that takes too long.
    private func waitForDrawing() async {
        guard let writing else { return }
        await withTaskGroup { group in
            group.addTask { _ = try? await writing.wait() }
            group.addTask { _ = try? await CommandClock.sleep(for: Self.patience) }
            await group.next()
            group.cancelAll()
        }
    }

    // MARK: Keys

    /// Makes the terminal deliver keys. Returns false if it belongs to another program at the moment.
    private func enter() -> Bool {
        let entry = terminal?.enter() ?? .isElsewhere
        if entry == .began { drawn = nil }
        return entry != .isElsewhere
    }

    /// Returns when the user quits.
    private func readKeys() async throws {
        while true {
            // In the background, input belongs to other programs.
            while !enter() { try await CommandClock.sleep(for: Self.pause) }
            guard let bytes = await StandardInput.shared.next(atMost: 1024) else {
                try Task.checkCancellation()
                // The input has ended; the scan has not.
                terminal?.end()
                return try await CommandClock.sleep(for: .seconds(Int64(Int32.max)))
            }
            keyEnd?.cancel()
            for key in parser.keys(bytes) where try press(key) { return }
            awaitKeyEnd()
            try draw()
        }
    }

    /// Ends the key that has begun, unless another byte follows in time.
    private func awaitKeyEnd() {
        guard let deadline = parser.deadline else { return }
        keyEnd = Task {
            guard (try? await CommandClock.sleep(for: deadline)) != nil else { return }
            self.endKey()
        }
    }

    private func endKey() {
        guard !Task.isCancelled else { return }
        // The next byte has arrived, but has not been read yet.
        guard !StandardInput.shared.hasMore else { return awaitKeyEnd() }
        guard let key = parser.timeOut() else { return }
        // Escape alone never quits. If the output is closed, the next drawing reports it.
        _ = try? press(key)
        try? draw()
    }

    /// Returns whether the user quits.
    private func press(_ key: Key) throws -> Bool {
        switch screen.press(key) {
        case .quit: return true
        case .suspend: terminal?.suspend()
        case .redraw: drawn = nil
        case nil: break
        }
        return false
    }
}
