public import BLE

/// The state of a digital signal, two bits (Automation IO Service 1.0, section 3.1).
public enum DigitalState: UInt8, Hashable, Codable, Sendable, CaseIterable {
    /// Off.
    case inactive
    /// On.
    case active
    /// Tri-state: high impedance.
    case triState
    /// Unknown.
    case unknown
}

extension ValueCoding where Value == [DigitalState] {
    /// The states of the given number of digital signals, four in a byte, the first in the lowest two bits. Unused bits
    /// of the last byte are 0, and ignored when decoding.
    ///
    /// - Parameter count: the number of signals in the Number of Digitals descriptor. If this is nil, there are four
    ///   for each byte.
    public static func digitals(_ count: Int?) -> Self {
        ValueCoding(
            decode: { (bytes) throws(BLEError) in
                guard let count else { return DigitalState.all(of: bytes) }
                guard bytes.count == DigitalState.byteCount(count) else {
                    throw BLEError(
                        .invalidValue,
                        "the value 0x\(Hex.string(bytes)) does not have the length for \(count) digital signals")
                }
                return Array(DigitalState.all(of: bytes).prefix(max(0, count)))
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
