public import BLE

/// What a digital signal is (Automation IO Service 1.0, section 3.1): two bits.
public enum DigitalState: UInt8, Hashable, Sendable, CaseIterable {
    /// Off.
    case inactive
    /// On.
    case active
    /// Neither drives nor is driven.
    case triState
    /// Not known.
    case unknown
}

extension ValueCoding where Value == [DigitalState] {
    /// The states of so many digital signals, four to a byte, the first in the lowest two bits. What is left of the last byte is 0, and
    /// ignored when it is read.
    ///
    /// - Parameter count: how many signals there are, as the Number of Digitals descriptor says; nil where it is not known, and then
    ///   there are four for each byte.
    public static func digitals(_ count: Int?) -> Self {
        ValueCoding(
            decode: { (bytes) throws(BLEError) in
                guard let count else { return DigitalState.all(of: bytes) }
                guard bytes.count == DigitalState.byteCount(count) else {
                    throw BLEError(
                        .invalidValue, "the value 0x\(Hex.string(bytes)) is not that of \(count) digital signals")
                }
                return Array(DigitalState.all(of: bytes).prefix(count))
            },
            encode: { (states) throws(BLEError) in
                guard states.count == count ?? states.count else {
                    throw BLEError(.invalidValue, "there are \(count ?? 0) digital signals, not \(states.count)")
                }
                return DigitalState.bytes(states)
            })
    }
}

extension DigitalState {
    static func byteCount(_ count: Int) -> Int { (max(0, count) + 3) / 4 }

    static func all(of bytes: [UInt8]) -> [DigitalState] {
        bytes.flatMap { byte in [0, 2, 4, 6].map { DigitalState(rawValue: byte >> $0 & 3) ?? .unknown } }
    }

    static func bytes(_ states: [DigitalState]) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: byteCount(states.count))
        for (index, state) in states.enumerated() { bytes[index / 4] |= state.rawValue << UInt8(index % 4 * 2) }
        return bytes
    }
}
