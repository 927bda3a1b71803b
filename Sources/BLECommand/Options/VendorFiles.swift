import ArgumentParser
import BLE
import BLEAssignedNumbers
import BLEBTHome
import BLEBeacons
import BLEDefinitions
import FoundationEssentials

/// What the tool knows of vendors: the names and formats of this package, and what the user's files define.
///
/// What a file defines comes before what the SIG has for the same number or name. Of several files, the first counts.
struct VendorFiles: Sendable {
    /// What is known to the command that runs. Its arguments are parsed with these names.
    @TaskLocal static var current = VendorFiles([])

    /// The names.
    let catalog: Catalog
    /// The formats of advertising data.
    let formats: AdvertisementFormats
    /// The layouts of values, by characteristic.
    let values: [BluetoothUUID: DataLayout]

    /// The size of the largest file, in bytes.
    private static let limit = 1 << 20
    private static let option = "--vendor"
    private static let variable = "BLE_VENDOR"

    init(_ definitions: [VendorDefinition]) {
        catalog = Catalog(definitions.flatMap(\.catalog.entries) + Catalog.vendors.entries)
        formats = AdvertisementFormats(definitions.map(\.formats) + [.beacons, .bthome])
        values = definitions.reduce(into: [:]) { values, definition in
            values.merge(definition.values) { first, _ in first }
        }
    }

    /// Reads the files that the arguments of the tool and the environment name, if the command uses them. Throws
    /// `ValidationError` with the file and the place of what is wrong, except for the completion of a command line,
    /// which then goes without them.
    init(
        of arguments: [String], _ environment: [String: String] = ProcessInfo.processInfo.environment
    ) async throws {
        guard arguments.first != Self.completion else {
            self = await Self.completing(arguments, environment)
            return
        }
        let isHelp = arguments.prefix { $0 != "--" }.contains { ["-h", "--help", "--version"].contains($0) }
        guard !isHelp, Self.areUsed(by: arguments[...]) else {
            self.init([])
            return
        }
        self.init(try await Self.read(arguments, environment))
    }

    private static let completion = "---completion"
    /// The maximum time for the files of a completion.
    private static let patience = Duration.milliseconds(500)

    private static func completing(_ arguments: [String], _ environment: [String: String]) async -> VendorFiles {
        // The command comes first, and the words of the line that the user's shell completes follow a double hyphen.
        guard areUsed(by: arguments.dropFirst()) else { return VendorFiles([]) }
        let words = Array(arguments.drop { $0 != "--" }.dropFirst())
        let task = Task { try await read(words, environment) }
        let limit = Task {
            try await Task.sleep(for: patience)
            task.cancel()
        }
        defer { limit.cancel() }
        return VendorFiles((try? await task.value) ?? [])
    }

    /// Whether the command of a line has `--vendor`.
    private static func areUsed(by arguments: ArraySlice<String>) -> Bool {
        var command: any ParsableCommand.Type = BLECommand.self
        for word in arguments {
            guard let inner = command.configuration.subcommands.first(where: { $0.configuration.commandName == word })
            else { break }
            command = inner
        }
        return Mirror(reflecting: command.init()).children.contains { child in
            child.value is OptionGroup<CommonOptions> || child.label == "_vendor"
        }
    }

    private static func read(_ words: [String], _ environment: [String: String]) async throws -> [VendorDefinition] {
        var paths = CommonOptions.given(in: words).filter { $0.name == option }.compactMap { given in
            given.words.count == 2 ? given.words.last : given.words.first.map { String($0.dropFirst(option.count + 1)) }
        }
        paths += environment[variable]?.split(separator: ":").map(String.init) ?? []
        var definitions: [VendorDefinition] = []
        for path in paths { definitions.append(try await read(path)) }
        return definitions
    }

    private static func read(_ path: String) async throws -> VendorDefinition {
        do {
            return try VendorDefinition(json: try await InputFile.read(path, limit: limit))
        } catch let error as InputFile.Failure {
            throw ValidationError("\(path) \(error).")
        } catch let mistake as DefinitionError {
            throw ValidationError("\(path): \(mistake)")
        }
    }
}

extension Catalog {
    /// The names that the tool shows and takes.
    static var shown: Catalog { VendorFiles.current.catalog }
}
