import ArgumentParser
import BLE
import BLEAssignedNumbers
import BLEDefinitions
import Synchronization

struct ExpectCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "expect", abstract: "Check the value of a characteristic or a descriptor.",
        discussion: """
            Reads the value, and ends with status 1 if it is another one. With --within, waits for a notification or \
            an indication with the value, unless reading returns it already.

            The value is given as for ble write. Of several fields, those that are given are compared. Examples:

            ble expect Strap battery-level 90%
            ble expect Strap heart-rate-measurement heart-rate=72 --within 5
            """)

    @OptionGroup var options: CommonOptions

    @Argument(help: idHelp, completion: .peripherals)
    var id: String

    @Argument(
        help: CharacteristicArgument.helpWithDescriptor, completion: .characteristics,
        transform: CharacteristicArgument.init(named:))
    var characteristic: CharacteristicArgument

    @OptionGroup var value: WrittenValue

    @Option(help: ArgumentHelp("Wait for the value, for at most this time.", valueName: "seconds"))
    var within: Double?

    func validate() throws {
        if let within {
            guard within > 0, within <= 86_400 else {
                throw ValidationError("--within is a number of seconds above 0, at most 86400.")
            }
            guard characteristic.descriptor == nil else { throw ValidationError("A descriptor does not notify.") }
        }
        try value.check(for: characteristic, isPartial: true)
    }

    func run() async throws {
        let (id, characteristic, timeout) = (id, characteristic, options.timeoutDuration)
        let (text, given) = (value.typedText, try await value.bytes())
        let limit = within.map { Duration.milliseconds(Int64($0 * 1000)) }
        try await Session.run(options) { central, output in
            let peripheral = try await Finder(central: central, output: output, timeout: timeout).find(id)
            let (attribute, format) = try await output.progress.during("Connecting to \(peripheral)") {
                let attribute = try await characteristic.attribute(on: peripheral)
                return (attribute, await attribute.format(on: peripheral))
            }
            let fields = try text.map { text throws(BLEError) in
                try attribute.parse(text, format) { (format, text) throws(BLEError) in try format.given(text: text) }
            }
            let expected = ExpectedValue(given, fields, format)
            let last: LastValue.State
            if let limit {
                last = try await output.progress.during("Waiting for \(expected.text)", limit: limit) {
                    try await Self.wait(for: expected, in: attribute, of: peripheral, within: limit)
                }
            } else {
                last = LastValue.State(value: try await attribute.read(of: peripheral))
            }
            let shown = last.value.map { ShownValue($0, format, guessing: false) }
            let isMet = last.value.map(expected.isMet) ?? false
            let unsent = last.error ?? BLEError(.failed, "no value was sent")
            let json = attribute.json.merging(shown?.json ?? ShownValue.json(unsent)) { $1 }
                .merging(["expected": .string(expected.text), "isMet": .bool(isMet)]) { $1 }
            guard isMet, let shown else {
                let name = attribute.descriptor == nil ? attribute.key.characteristic.name(in: .shown) : nil
                let time = limit.map { " within \($0)" } ?? ""
                let unread = last.error.map { " (reading it failed: \($0.message.harmless))" } ?? ""
                output.note(
                    "\(name ?? characteristic.title) is \(shown?.plainText ?? "not sent\(unread)")\(time), "
                        + "not \(expected.text)")
                if output.json { try output.about(peripheral).line(.object(json), "") }
                throw ExitCode(ExitStatus.somethingIsWrong)
            }
            try output.about(peripheral).line(.object(json), shown.text(output))
        }
    }

    /// Waits until the value is the expected one, for at most the given time. Returns the last value, and why the
    /// value could not be read. Throws if neither reading nor a subscription can show another value.
    private static func wait(
        for expected: ExpectedValue, in attribute: CharacteristicArgument.Attribute, of peripheral: Peripheral,
        within limit: Duration
    ) async throws -> LastValue.State {
        let last = LastValue()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                // Before it is read, so that no change is missed.
                let subscription = try await Result(of: peripheral) { () throws(BLEError) in
                    try await peripheral.notifications(attribute.key.bytes, overflow: .dropOldest(capacity: 4096))
                }
                try await withThrowingTaskGroup(of: Bool.self) { group in
                    // At the same time, so that the last value is the one that arrived last.
                    group.addTask {
                        let read = try await Result(of: peripheral) { () throws(BLEError) in
                            try await attribute.read(of: peripheral)
                        }
                        last.set(read)
                        // Many that notify cannot be read.
                        return (try? read.get()).map(expected.isMet) ?? false
                    }
                    if case .success(let values) = subscription {
                        group.addTask {
                            for try await event in values.events {
                                guard case .value(let value) = event else { continue }
                                last.set(.success(value))
                                if expected.isMet(by: value) { return true }
                            }
                            return false
                        }
                    }
                    defer { group.cancelAll() }
                    for try await isMet in group where isMet { return }
                    _ = try subscription.get()
                }
            }
            group.addTask { try await CommandClock.sleep(for: limit) }
            defer { group.cancelAll() }
            try await group.next()
        }
        return last.current
    }

    private final class LastValue: Sendable {
        struct State {
            var value: [UInt8]?
            var error: BLEError?
        }

        private let state = Mutex(State())

        var current: State { state.withLock(\.self) }

        func set(_ result: Result<[UInt8], BLEError>) {
            state.withLock { state in
                switch result {
                case .success(let value): state.value = value
                case .failure(let error): state.error = error
                }
            }
        }
    }
}

/// The value that `ble expect` compares others with.
struct ExpectedValue: Sendable {
    private let bytes: [UInt8]
    private let format: (any AttributeFormat)?
    /// The fields to compare. Nil to compare the bytes.
    private let fields: [GivenField]?

    /// - Parameter fields: the fields that are given as text, in place of the bytes.
    init(_ bytes: [UInt8], _ fields: [GivenField]?, _ format: (any AttributeFormat)?) {
        (self.bytes, self.fields, self.format) = (bytes, fields, format)
    }

    func isMet(by value: [UInt8]) -> Bool {
        guard let fields else { return value == bytes }
        guard let found = try? format?.decode(value) else { return false }
        return GivenField.areMet(fields, by: found)
    }

    /// The value for people.
    var text: String {
        fields.map { GivenField.text($0).harmless } ?? ShownValue(bytes, format, guessing: false).plainText
    }
}
