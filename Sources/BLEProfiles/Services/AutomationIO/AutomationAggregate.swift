public import BLE

/// The values of all inputs of an IO module at one moment (Automation IO Service 1.0, section 3.3).
public struct AutomationAggregate: Hashable, Sendable {
    /// The states of each digital characteristic.
    public var digitals: [[DigitalState]]
    /// The value of each analog characteristic.
    public var analogs: [UInt16]

    /// The values.
    public init(digitals: [[DigitalState]] = [], analogs: [UInt16] = []) {
        self.digitals = digitals
        self.analogs = analogs
    }

    /// How the values are spelled: the digital ones one after the other, each in whole bytes, and then the analog ones.
    ///
    /// - Parameters:
    ///   - digitalCounts: how many signals each digital characteristic has.
    ///   - analogCount: how many analog characteristics there are.
    public static func coding(digitalCounts: [Int], analogCount: Int) -> ValueCoding<AutomationAggregate> {
        ValueCoding(
            decode: { (bytes) throws(BLEError) in try decode(bytes, digitalCounts, analogCount) },
            encode: { (aggregate) throws(BLEError) in
                guard aggregate.digitals.map(\.count) == digitalCounts, aggregate.analogs.count == analogCount else {
                    throw BLEError(.invalidValue, "the values are not those of \(digitalCounts) and \(analogCount)")
                }
                var writer = ValueWriter()
                for states in aggregate.digitals { writer.bytes(DigitalState.bytes(states)) }
                for analog in aggregate.analogs { writer.uint16(analog) }
                return writer.bytes
            })
    }

    private static func decode(
        _ bytes: [UInt8], _ digitalCounts: [Int], _ analogCount: Int
    ) throws(BLEError) -> AutomationAggregate {
        let digitalLength = digitalCounts.reduce(0) { $0 + DigitalState.byteCount($1) }
        guard bytes.count == digitalLength + 2 * analogCount else {
            throw BLEError(
                .invalidValue,
                "the value 0x\(Hex.string(bytes)) is not the \(digitalLength + 2 * analogCount) bytes of all inputs")
        }
        var aggregate = AutomationAggregate()
        var rest = bytes[...]
        for count in digitalCounts {
            let length = DigitalState.byteCount(count)
            aggregate.digitals.append(Array(DigitalState.all(of: Array(rest.prefix(length))).prefix(count)))
            rest = rest.dropFirst(length)
        }
        let analogs = Array(rest)
        for index in 0..<analogCount {
            aggregate.analogs.append(try UInt16(bytes: Array(analogs[2 * index..<2 * index + 2])))
        }
        return aggregate
    }
}
