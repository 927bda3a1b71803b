// Fuzzed by Scripts/fuzz, which compiles this together with the sources of BLE and BLEProfiles and the tests' list of typed values.

/// The first two bytes choose a characteristic whose format the SIG publishes, or a Characteristic Presentation Format;
/// the others are the value. A trap is a finding; so is a decoded value that cannot be shown, and a value of
/// fixed size that also decodes with a byte less or more.
///
/// Every typed value is also read from each input's value, so that each type gets all inputs. A decoded value must be
/// encodable, and the encoded bytes must decode and encode to the same bytes.
@c(LLVMFuzzerTestOneInput)
public func fuzzValues(_ data: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let input = UnsafeBufferPointer(start: data, count: count)
    guard input.count >= 2 else { return 0 }
    let (choice, bytes) = (Int(input[0]) | Int(input[1]) << 8, Array(input.dropFirst(2)))
    if choice < formats.count {
        fuzz(formats[choice], bytes)
    } else {
        fuzzPresentation(input[0], Int8(bitPattern: input[1]), bytes)
    }
    for value in TypedValues.all { fuzz(value, bytes) }
    return 0
}

private func fuzz(_ value: TypedValue, _ bytes: [UInt8]) {
    guard (try? value.decode(bytes)) != nil else { return }
    guard let written = try? value.recode(bytes) else {
        preconditionFailure("\(value.uuid) does not encode what it has decoded")
    }
    precondition((try? value.recode(written)) == written, "\(value.uuid) decodes its own bytes as something else")
}

private let formats = NumberTable.formats.entries { _ in true }.map { number, notation in
    guard let format = ValueFormat(of: BluetoothUUID(UInt32(number))) else {
        preconditionFailure("\(number) has a format that is not in the notation: \(notation)")
    }
    return format
}

private func fuzz(_ format: ValueFormat, _ bytes: [UInt8]) {
    guard let values = try? format.decode(bytes) else { return }
    for value in values { check(value) }
    precondition(values.isEmpty || FieldValue.text(values).utf8.count >= values.count - 1)
}

private func check(_ value: FieldValue) {
    switch value.content {
    case .text(let text): precondition(value.description == text)
    case .number(let number): precondition(!number.isNaN && !value.description.isEmpty)
    case .fields(let fields): for field in fields { check(field) }
    default: precondition(!value.description.isEmpty)
    }
}

private func fuzzPresentation(_ format: UInt8, _ exponent: Int8, _ bytes: [UInt8]) {
    let presentation = PresentationFormat(
        format: .init(rawValue: format), exponent: exponent, unit: BluetoothUUID(0x272F))
    let decoder = ValueFormat(presentation)
    fuzz(decoder, bytes)
    // All formats except text and bytes have a size.
    guard !(0x19...).contains(format), format != 0, (try? decoder.decode(bytes)) != nil, !bytes.isEmpty else { return }
    precondition((try? decoder.decode(Array(bytes.dropLast()))) == nil)
    precondition((try? decoder.decode(bytes + [0])) == nil)
}
