/// A value of a sensor, with its name and its unit, such as a temperature of 21.3 °C.
///
/// The formats of advertising data have it in common, whatever else each says; see
/// ``AdvertisementDecodable/readings-swift.property``.
///
/// Encoded, it is an object with the `name`, the `value` as a number, a text or a Boolean, and the `unit`, if there is
/// one.
public struct SensorReading: Hashable, Encodable, Sendable {
    /// The content of a reading.
    public enum Value: Hashable, Encodable, Sendable {
        /// A number, in ``SensorReading/unit``.
        case number(Double)
        /// Text.
        case text(String)
        /// Yes or no, such as whether a battery is low.
        case flag(Bool)

        /// Encodes the number, the text or the Boolean alone. Encoders of JSON throw for a number that is not finite.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .number(let number): try container.encode(number)
            case .text(let text): try container.encode(text)
            case .flag(let flag): try container.encode(flag)
            }
        }
    }

    /// The name for people, such as `battery low`.
    public let name: String
    /// The content.
    public let value: Value
    /// The symbol of the unit, such as `°C`. Nil for a count, a text or a flag.
    public let unit: String?

    /// Creates a reading.
    public init(name: String, value: Value, unit: String? = nil) {
        (self.name, self.value, self.unit) = (name, value, unit)
    }

    /// Creates a reading of a number. Nil if the number is not available.
    public init?(_ name: String, _ number: Double?, _ unit: String? = nil) {
        guard let number else { return nil }
        self.init(name: name, value: .number(number), unit: unit)
    }
}

extension SensorReading: CustomStringConvertible {
    /// The name and the value with its unit, such as `temperature 21.3 °C` or `battery low yes`.
    ///
    /// Text of a peripheral is unchanged, including any control characters.
    public var description: String { "\(name) \(valueText)" }

    /// The value with its unit, such as `21.3 °C`.
    public var valueText: String {
        switch value {
        case .number(let number):
            let digits = "\(number)"
            let short = digits.hasSuffix(".0") ? String(digits.dropLast(2)) : digits
            return unit.map { "\(short) \($0)" } ?? short
        case .text(let text): return text
        case .flag(let flag): return flag ? "yes" : "no"
        }
    }
}

// MARK: Names

extension SensorReading {
    /// Whether another value has the same kind and unit.
    package func isLike(_ other: SensorReading) -> Bool {
        guard unit == other.unit else { return false }
        return switch (value, other.value) {
        case (.number, .number), (.text, .text), (.flag, .flag): true
        default: false
        }
    }

    /// The same, with its unit or its kind in the name.
    package var withKindInName: SensorReading {
        let kind = if case .flag = value { "state" } else if case .text = value { "text" } else { unit ?? "number" }
        return SensorReading(name: "\(name) \(kind)", value: value, unit: unit)
    }

    /// The name in JSON and topics: lowercase letters, digits and underscores, such as `battery_low`.
    public var id: String { Self.id(name) }

    /// Returns the lowercase letters and digits of a name.
    ///
    /// - Parameter separator: what stands between them in place of everything else, if anything.
    package static func id(_ name: String, separator: Character? = "_") -> String {
        // Most names are their own, and are compared for each value that is received.
        if name.utf8.allSatisfy(isPlain) { return name }
        var id = ""
        var isSeparated = false
        for scalar in name.lowercased().unicodeScalars {
            guard scalar.isASCII, isPlain(UInt8(scalar.value)) else {
                isSeparated = true
                continue
            }
            if isSeparated, !id.isEmpty, let separator { id.append(separator) }
            isSeparated = false
            id.unicodeScalars.append(scalar)
        }
        return id
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    /// Returns readings with different ids: the second of one name becomes `temperature 2`. A flag and a number of one
    /// name, such as `battery`, are different, too. A number that is part of another reading's name is skipped.
    package static func numbered(_ readings: [SensorReading]) -> [SensorReading] {
        let isUnambiguous =
            readings.count <= 16
            && readings.indices.allSatisfy { index in
                !readings[..<index].contains { $0.name == readings[index].name || $0.id == readings[index].id }
            }
        guard !isUnambiguous else { return readings }
        var taken = Set(readings.map(\.id))
        var counts: [String: Int] = [:]
        return readings.map { reading in
            let id = reading.id
            guard var count = counts[id] else {
                counts[id] = 1
                return reading
            }
            var numbered = reading
            repeat {
                count += 1
                numbered = SensorReading(name: "\(reading.name) \(count)", value: reading.value, unit: reading.unit)
            } while !taken.insert(numbered.id).inserted
            counts[id] = count
            return numbered
        }
    }
}
