import ArgumentParser
import BLE

/// An integer of fixed size, as little-endian bytes.
struct NumberArgument: Sendable {
    let bytes: [UInt8]

    /// Returns the function that parses an integer of a type, in decimal or, after `0x`, in hexadecimal.
    static func transform<Number: FixedWidthInteger & SendableMetatype>(
        _ type: Number.Type
    ) -> @Sendable (String) throws -> NumberArgument {
        { text in
            let digits = text.lowercased()
            let number = digits.hasPrefix("0x") ? Number(digits.dropFirst(2), radix: 16) : Number(digits)
            guard let number else {
                throw ValidationError("\"\(text.excerpt)\" is not an integer from \(Number.min) to \(Number.max).")
            }
            return NumberArgument(
                bytes: (0..<Number.bitWidth / 8).map { UInt8(truncatingIfNeeded: number >> Number(8 * $0)) })
        }
    }
}
