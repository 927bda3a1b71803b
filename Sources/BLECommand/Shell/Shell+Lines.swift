import ArgumentParser
import BLE

extension Shell {
    /// Performs the lines that a user types, until exit, or until the input ends.
    mutating func converse(with reader: any LineReader) async throws {
        while true {
            await noteFound()
            let prompt = await prompt()
            // The message appears while the user types.
            let watch = held.map { held in
                Task { await Self.announceEnds(of: held, to: reader) }
            }
            let read = await read(prompt, await vocabulary(), with: reader)
            watch?.cancel()
            try Task.checkCancellation()
            switch read {
            case .line(let line): if try await perform(line) == .exit { return }
            case .interrupted: continue
            case .end: return
            }
        }
    }

    private func read(
        _ prompt: String, _ vocabulary: ShellVocabulary, with reader: any LineReader
    ) async -> ReadLine {
        guard let interrupts else { return await reader.next(prompt, completing: vocabulary) }
        let (result, isInterrupted) = await interrupts.during(.line) {
            await reader.next(prompt, completing: vocabulary)
        }
        guard case .success(let read) = result else { return .interrupted }
        guard isInterrupted else { return read }
        // After Enter, the terminal itself has shown ^C.
        if case .line = read { Progress.write("\n") }
        return .interrupted
    }

    private func prompt() async -> String {
        guard let held else { return "ble> " }
        return Self.prompt(held, isConnected: await held.peripheral.connectionState == .connected)
    }

    private static func prompt(_ held: Held, isConnected: Bool) -> String {
        held.name + (isConnected ? "> " : " (no link)> ")
    }

    private static func announceEnds(of held: Held, to reader: any LineReader) async {
        let events = await held.peripheral.connectionEvents()
        do {
            for try await event in events {
                guard case .disconnected(let error) = event else { continue }
                reader.announce("ble: \(error.message.harmless)", prompt: prompt(held, isConnected: false))
            }
        } catch {}
    }

    func vocabulary() async -> ShellVocabulary {
        var vocabulary = ShellVocabulary(
            peripherals: found.map { ShellVocabulary.KnownPeripheral(id: $0.key, name: $0.value) },
            isHolding: held != nil)
        vocabulary.database = await held?.peripheral.knownServices
        return vocabulary
    }

    /// Performs a script with a shell.
    ///
    /// - Parameter path: the path of the script, or a hyphen for standard input.
    static func run(
        _ options: CommonOptions, _ id: String?, script path: String, continues: Bool = false, asks: Bool = false
    ) async throws {
        // Before a peripheral is connected in vain.
        let script: Script
        do {
            script = path == "-" ? Script.standardInput : try await Script(path: path)
        } catch let error as BLEError {
            Output(json: options.json).complain(error)
            throw ExitCode(ExitStatus.status(of: error.code))
        }
        try await run(options, id, isInteractive: false, asks: asks) { shell in
            try await shell.perform(script, continues: continues)
        }
    }

    /// Performs the lines of a script. Ends with the exit status of the first line that fails.
    ///
    /// - Parameter continues: whether later lines are performed nevertheless.
    private mutating func perform(_ script: Script, continues: Bool) async throws {
        var failure: Int32?
        var shell = self
        try await script.forEachLine { number, line in
            let status: Int32
            if let line {
                guard case .next(let next) = try await shell.perform(line) else { return false }
                try Task.checkCancellation()
                guard next != ExitStatus.success else { return true }
                shell.output.note("\(script.name):\(number): exit status \(next): \(line.excerpt)")
                status = next
            } else {
                status = ExitStatus.status(of: .invalidArgument)
                shell.output.note("\(script.name):\(number): a line of more than \(Script.longestLine) bytes")
            }
            failure = failure ?? status
            return continues
        }
        self = shell
        if let failure { throw ExitCode(failure) }
    }
}
