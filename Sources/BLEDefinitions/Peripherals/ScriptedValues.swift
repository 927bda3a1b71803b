/// A sequence of values that a definition's file describes.
package enum ScriptedValues: Sendable {
    /// The given values, in turn.
    case list([[UInt8]])
    /// The numbers from the first to the last, repeated.
    case ramp(from: Int, to: Int, step: Int, NumberFormat)
    /// Random numbers in a range. The same seed results in the same numbers.
    case random(ClosedRange<Int>, seed: UInt64, NumberFormat)

    /// A number of 1 to 4 bytes, little-endian.
    package struct NumberFormat: Sendable, Equatable {
        package let byteCount: Int
        package let isSigned: Bool

        package static let named: [(String, NumberFormat)] = [
            ("uint8", NumberFormat(byteCount: 1, isSigned: false)),
            ("uint16", NumberFormat(byteCount: 2, isSigned: false)),
            ("uint32", NumberFormat(byteCount: 4, isSigned: false)),
            ("sint8", NumberFormat(byteCount: 1, isSigned: true)),
            ("sint16", NumberFormat(byteCount: 2, isSigned: true)),
            ("sint32", NumberFormat(byteCount: 4, isSigned: true)),
        ]

        var range: ClosedRange<Int> {
            let bits = byteCount * 8
            return isSigned ? -(1 << (bits - 1))...(1 << (bits - 1)) - 1 : 0...(1 << bits) - 1
        }

        func bytes(_ number: Int) -> [UInt8] {
            (0..<byteCount).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
        }
    }

    /// Returns an endless iterator over the values.
    package func makeIterator() -> Iterator { Iterator(values: self) }

    package struct Iterator: IteratorProtocol {
        private let values: ScriptedValues
        private var index = 0
        private var generator: SplitMix

        init(values: ScriptedValues) {
            self.values = values
            if case .random(_, let seed, _) = values {
                generator = SplitMix(state: seed)
            } else {
                generator = SplitMix(state: 0)
            }
        }

        package mutating func next() -> [UInt8]? {
            defer { index += 1 }
            switch values {
            case .list(let values): return values[index % values.count]
            case .ramp(let first, let last, let step, let format):
                let count = abs(last - first) / step + 1
                let distance = index % count * step
                return format.bytes(first <= last ? first + distance : first - distance)
            case .random(let range, _, let format): return format.bytes(Int.random(in: range, using: &generator))
            }
        }
    }

    /// Random numbers from a seed (SplitMix64, Steele, Lea and Flood, OOPSLA 2014).
    private struct SplitMix: RandomNumberGenerator {
        var state: UInt64

        package mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }
}
