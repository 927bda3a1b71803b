public import BLE

/// The values of all inputs of an IO module at one time (Automation IO Service 1.0, section 3.3).
public struct AutomationAggregate: Hashable, Codable, Sendable {
    /// The states of each digital characteristic.
    public var digitals: [[DigitalState]]
    /// The value of each analog characteristic.
    public var analogs: [UInt16]

    /// Creates an aggregate.
    public init(digitals: [[DigitalState]] = [], analogs: [UInt16] = []) {
        self.digitals = digitals
        self.analogs = analogs
    }

    /// Returns the coding of the values: first the digital ones, each in whole bytes, then the analog ones.
    ///
    /// - Parameters:
    ///   - digitalCounts: the number of signals of each digital characteristic.
    ///   - analogCount: the number of analog characteristics.
    public static func coding(digitalCounts: [Int], analogCount: Int) -> ValueCoding<AutomationAggregate> {
        ValueCoding(
            decode: { (bytes) throws(BLEError) in try decode(bytes, digitalCounts, analogCount) },
            encode: { (aggregate) throws(BLEError) in
                guard aggregate.digitals.map(\.count) == digitalCounts, aggregate.analogs.count == analogCount else {
                    throw BLEError(
                        .invalidValue,
                        "the number of values does not match the inputs: \(digitalCounts) digital signals "
                            + "and \(analogCount) analog inputs")
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
                "the value 0x\(Hex.string(bytes)) does not have the \(digitalLength + 2 * analogCount) bytes "
                    + "of all inputs")
        }
        var aggregate = AutomationAggregate()
        var rest = bytes[...]
        for count in digitalCounts {
            let length = DigitalState.byteCount(count)
            aggregate.digitals.append(Array(DigitalState.all(of: Array(rest.prefix(length))).prefix(max(0, count))))
            rest = rest.dropFirst(length)
        }
        let analogs = Array(rest)
        for index in 0..<analogCount {
            aggregate.analogs.append(try UInt16(bytes: Array(analogs[2 * index..<2 * index + 2])))
        }
        return aggregate
    }
}
