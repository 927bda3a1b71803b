import ArgumentParser
import BLE
import BLEAssignedNumbers
import BLEDefinitions

struct NumbersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "numbers", abstract: "Look up numbers that the Bluetooth SIG has assigned.",
        discussion: """
            Shows the services, characteristics, descriptors, units, companies, appearances and other numbers whose \
            name contains all the words, each at the beginning of a word, or whose hexadecimal number is one of the \
            words. Does not use Bluetooth.
            """)

    @Argument(help: "Words of a name such as heart rate, or a number such as 2a37 or 0x004C.")
    var words: [String]

    @Option(
        help: ArgumentHelp(
            "Only this kind; repeatable. One of: "
                + AssignedNumber.Kind.allCases.map(\.rawValue).joined(separator: ", ") + ".", valueName: "kind"),
        transform: kind(of:))
    var kind: [AssignedNumber.Kind] = []

    @Option(
        help: ArgumentHelp("Also those in a vendor's definition in JSON; repeatable.", valueName: "file"),
        completion: .file())
    var vendor: [String] = []

    @Flag(help: "JSON Lines instead of text.")
    var json = false

    @Flag(name: .shortAndLong, help: "Accepted for consistency with other commands, without effect.")
    var verbose: Int

    func run() async throws {
        let output = Output(json: json)
        let kinds = kind.isEmpty ? AssignedNumber.Kind.allCases : kind
        let numbers = Set(words.compactMap(Self.number)).sorted()
        let own = Catalog.shown.entries.filter { entry in
            kinds.contains(entry.kind) && entry.number.map(numbers.contains) == true
        }
        let byNumber = own + numbers.flatMap { AssignedNumbers.numbered($0, kinds) }
        let byName = Catalog.shown.containing(words, kinds).filter { !byNumber.contains($0) }
        guard !(byNumber + byName).isEmpty else {
            output.note("nothing has the name or number \(words.joined(separator: " "))")
            throw ExitCode(ExitStatus.nothingFound)
        }
        for entry in byNumber + byName {
            try output.line(
                .object([
                    "kind": .string(entry.kind.rawValue), "number": .string(entry.numberText),
                    "uuid": .optional(entry.uuid) { .string($0.fullDescription) }, "name": .string(entry.name),
                ]),
                "\(entry.kind.rawValue.padded(to: 21))  \(entry.numberText.padded(to: 6))  \(entry.name)")
        }
    }

    private static func kind(of text: String) throws -> AssignedNumber.Kind {
        if let kind = AssignedNumber.Kind(rawValue: text) { return kind }
        let meant = Suggestion.nearest(to: text, in: AssignedNumber.Kind.allCases.map(\.rawValue))
        throw ValidationError("\"\(text)\" is not a kind of number." + (meant.map { " Did you mean \($0)?" } ?? ""))
    }

    /// Returns the number in a word: up to four hexadecimal digits, with or without `0x`, or a 16-bit UUID in its long
    /// form.
    private static func number(_ word: String) -> UInt16? {
        if let uuid = BluetoothUUID(word) { return uuid.short }
        let digits = word.lowercased().hasPrefix("0x") ? word.dropFirst(2) : word[...]
        guard digits.allSatisfy(\.isHexDigit) else { return nil }
        return UInt16(digits, radix: 16)
    }
}
