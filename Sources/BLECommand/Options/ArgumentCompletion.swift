import ArgumentParser
import BLE
import BLEAssignedNumbers

/// The completions of the arguments of `ble` in the user's own shell.
extension CompletionKind {
    /// The peripherals that the system knows, by name or address. No scan is started, because the Tab key must not use
    /// the radio.
    static let peripherals = CompletionKind.custom { words, _, prefix in
        let peripherals = await knownPeripherals(words)
        let vocabulary = ShellVocabulary(peripherals: peripherals)
        return (vocabulary.plainPeripheralWords + (prefix.isEmpty ? [] : vocabulary.addresses)).filter {
            ShellVocabulary.isPlain($0) && $0.lowercased().hasPrefix(prefix.lowercased())
        }
    }

    /// The names of characteristics.
    static let characteristics = CompletionKind.custom { _, _, prefix in
        ShellVocabulary.names(.characteristic).filter { $0.hasPrefix(prefix.lowercased()) }
    }

    /// The names of services.
    static let services = CompletionKind.custom { _, _, prefix in
        ShellVocabulary.names(.service).filter { $0.hasPrefix(prefix.lowercased()) }
    }

    /// The maximum time until there is a completion.
    private static let patience = Duration.seconds(2)

    /// Returns the peripherals that the system of a command line knows. None if it does not answer in time.
    private static func knownPeripherals(_ words: [String]) async -> [ShellVocabulary.KnownPeripheral] {
        let task = Task {
            guard let options = try? CommonOptions.parse(CommonOptions.ofSystem(in: words)) else {
                return [ShellVocabulary.KnownPeripheral]()
            }
            guard let central = try? await options.makeCentral() else { return [] }
            let known = await central.knownPeripherals()
            await central.shutDown()
            return known.map { ShellVocabulary.KnownPeripheral(id: $0.id, name: $0.advertisement.localName) }
        }
        let limit = Task {
            try await Task.sleep(for: patience)
            task.cancel()
        }
        defer { limit.cancel() }
        return await task.value
    }
}

extension CommonOptions {
    /// Returns those of the words that say on which system a command runs.
    fileprivate static func ofSystem(in words: [String]) -> [String] {
        given(in: words).filter { ["--backend", "--adapter", "--radio", "--bus"].contains($0.name) }.flatMap(\.words)
    }
}
