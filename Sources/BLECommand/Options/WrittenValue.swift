import ArgumentParser
import BLE
import BLEAssignedNumbers

/// The value of `ble write` and `ble expect`: an argument or one of the options.
struct WrittenValue: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "The value: bytes, or text for the characteristic's format.",
            discussion: """
                Hexadecimal digits are always bytes, two digits each: 50 is the byte 0x50. Anything else is text for \
                the format of the characteristic, a vendor's, the SIG's or that in its own descriptor: 50%, 21.5, on, \
                a name, \
                or several fields as name=value. A number without a decimal point needs its unit or its field's \
                name, as in 50% or battery-level=50. A hyphen reads the bytes from standard input.
                """,
            valueName: "value"),
        transform: ValueArgument.init(argument:))
    var value: ValueArgument?

    @Option(parsing: .unconditional, help: ArgumentHelp("Text in UTF-8.", valueName: "string"))
    var text: String?

    @Option(
        parsing: .unconditional, help: ArgumentHelp("An unsigned byte.", valueName: "number"),
        transform: NumberArgument.transform(UInt8.self))
    var uint8: NumberArgument?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("An unsigned integer of 2 bytes, little-endian.", valueName: "number"),
        transform: NumberArgument.transform(UInt16.self))
    var uint16: NumberArgument?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("An unsigned integer of 4 bytes, little-endian.", valueName: "number"),
        transform: NumberArgument.transform(UInt32.self))
    var uint32: NumberArgument?

    @Option(
        parsing: .unconditional, help: ArgumentHelp("A signed byte.", valueName: "number"),
        transform: NumberArgument.transform(Int8.self))
    var sint8: NumberArgument?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("A signed integer of 2 bytes, little-endian.", valueName: "number"),
        transform: NumberArgument.transform(Int16.self))
    var sint16: NumberArgument?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("A signed integer of 4 bytes, little-endian.", valueName: "number"),
        transform: NumberArgument.transform(Int32.self))
    var sint32: NumberArgument?

    @Option(help: ArgumentHelp("The bytes of a file, at most 512.", valueName: "path"))
    var file: String?

    func validate() throws {
        guard (value == nil ? 0 : 1) + (text == nil ? 0 : 1) + numbers.count + (file == nil ? 0 : 1) == 1 else {
            throw ValidationError(
                "Give one value: VALUE, --text, one of --uint8 to --sint32, or --file. A negative VALUE follows a "
                    + "double hyphen, as in -- -5.5.")
        }
    }

    private var numbers: [NumberArgument] { [uint8, uint16, uint32, sint8, sint16, sint32].compactMap(\.self) }

    /// Text for the characteristic's format. Nil if the value is given as bytes.
    var typedText: String? {
        if case .text(let text) = value { text } else { nil }
    }

    /// Throws `ValidationError` if the text is not a value of the characteristic, as far as its format is known without
    /// the peripheral.
    ///
    /// - Parameter isPartial: whether some of several fields suffice.
    func check(for characteristic: CharacteristicArgument, isPartial: Bool = false) throws {
        guard let text = typedText else { return }
        guard characteristic.descriptor == nil else { throw ValueArgument.notBytes(text) }
        guard let format = characteristic.uuid.flatMap(ShownValue.format(of:)) else { return }
        do throws(BLEError) {
            if isPartial { _ = try format.given(text: text) } else { _ = try format.encode(text: text) }
        } catch {
            throw ValidationError("\(error.message.harmless).")
        }
    }

    /// Returns the bytes, without those of ``typedText``. Reads the file or standard input, up to 513 bytes.
    func bytes() async throws -> [UInt8] {
        var bytes = numbers.first?.bytes ?? []
        var source = "The value"
        if let text { bytes = Array(text.utf8) }
        if let file {
            do {
                bytes = try await InputFile.read(file, limit: Self.limit)
            } catch let error as InputFile.Failure {
                throw ValidationError("\(file) \(error).")
            }
        }
        switch value {
        case .bytes(let given): bytes = given
        case .standardInput:
            source = "Standard input"
            while bytes.count <= Self.limit, let more = await StandardInput.shared.next(atMost: Self.limit + 1) {
                bytes += more
            }
        case .text, nil: break
        }
        guard bytes.count <= Self.limit else {
            throw ValidationError("\(source) has more than \(Self.limit) bytes, which no attribute has.")
        }
        return bytes
    }

    /// The length of the longest attribute (Core Specification 5.4, volume 3, part F, section 3.2.9).
    private static let limit = 512
}
