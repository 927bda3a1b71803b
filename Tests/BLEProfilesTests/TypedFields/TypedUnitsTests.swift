import BLE
import BLEAssignedNumbers
import BLEProfiles
import BLETestSupport
import Testing

/// Typed values and the formats that the SIG publishes have the same numbers in the same units: Docs/Values.md has the
/// rule.
@Suite struct TypedUnitsTests {
    /// The suffixes of names for units, by the units' symbols.
    private static let words: [String: [String]] = [
        "%": ["percent"], "bpm": ["beatsPerMinute"], "kJ": ["kilojoules"], "W": ["watts"], "N": ["newtons"],
        "N·m": ["newtonMeters"], "°": ["degrees"], "s": ["seconds", "secondsPer500Meters"], "min": ["minutes"],
        "m": ["meters"], "mm": ["millimeters"], "km/h": ["kilometersPerHour"], "m/s": ["metersPerSecond"],
        "kcal": ["kilocalories"], "MET": ["metabolicEquivalent"], "steps/min": ["perMinute", "stepsPerMinute"],
        "strokes/min": ["strokesPerMinute"], "rpm": ["perMinute"], "µT": ["microteslas"], "°C": ["celsius"],
        "kWh": ["kilowattHours"], "V": ["volts"], "Ω": ["ohms"], "kg": ["kilograms"], "d": ["daysSince1970"],
        "h": ["hours"], "1/min": ["perMinute"],
    ]

    /// Properties whose unit is not at the end of their name, with the part that names it.
    private static let elsewhere: [String: [String]] = [
        "in `unit`, beside it": [
            "pressures.systolic", "pressures.diastolic", "pressures.meanArterial", "pressure", "temperature",
            "medication.amount",
        ],
        "in `units`, beside it": [
            "weight", "proportion.height", "height", "muscleMass", "fatFreeMass", "softLeanMass", "bodyWaterMass",
        ],
        "by what it is": ["proportion.bodyMassIndex"],
    ]

    private static func isNamed(_ property: String, in unit: String) -> Bool {
        // The value itself is the characteristic's.
        if property.isEmpty || elsewhere.values.contains(where: { $0.contains(property) }) { return true }
        let parts = property.replacing(/\[\d*\]/, with: "").split(separator: ".")
        return parts.contains { part in
            words[unit, default: []].contains { word in
                part == word || part.hasSuffix(word.prefix(1).uppercased() + word.dropFirst())
            }
        }
    }

    @Test(arguments: TypedFields.all.indices)
    func `a property is named in the unit of the field`(_ index: Int) throws {
        let typed = TypedFields.all[index]
        let format = try #require(ValueFormat(of: typed.value.uuid))
        var wrong: Set<String> = []
        Self.eachValue(of: typed, format, seed: UInt64(index)) { _, fields, _ in
            for field in ReadField.all(fields) {
                guard let unit = field.unit else { continue }
                for (property, name, _) in typed.parts(of: field) where property.name != TypedProperty.none.name {
                    if !Self.isNamed(name, in: unit) { wrong.insert("\(name) is in \(unit)") }
                }
            }
        }
        #expect(wrong.isEmpty, "\(typed.value.uuid)")
    }

    /// Properties without a word of their field's name, by field.
    private static let otherNames: [String: Set<String>] = [
        // Parts of a number, and the only number of a type.
        "EUI-64": ["organization", "manufacturer"], "Heart Rate": ["beatsPerMinute"],
        "Estimated Service Date": ["daysSince1970"], "Time Zone": ["minutes"],
        // Abbreviations, and words of two.
        "BMI": ["proportion.bodyMassIndex"], "SpO2": ["value.percent"], "PR": ["value.pulseRateBeatsPerMinute"],
        "Op Code": ["opcode"],
        // Properties whose words are not in the field's name.
        "Fitness Machine Features": ["measurements"], "Training Status": ["activity"], "Type": ["sample.fluid"],
    ]

    @Test(arguments: TypedFields.all.indices)
    func `a property has a word of the name of its field`(_ index: Int) throws {
        let typed = TypedFields.all[index]
        let format = try #require(ValueFormat(of: typed.value.uuid))
        var wrong: Set<String> = []
        Self.eachValue(of: typed, format, seed: UInt64(index)) { _, fields, _ in
            // Bits have their own names.
            for field in ReadField.all(fields) where !["Flags", "Power State"].contains(field.name) {
                let others = Self.otherNames[field.name.replacing(#/ Measurement Value.*/#, with: ""), default: []]
                for (property, name, _) in typed.parts(of: field)
                where !name.isEmpty && property.name != TypedProperty.none.name && !others.contains(name) {
                    if Self.stems(field.name).isDisjoint(with: Self.stems(name)) {
                        wrong.insert("\(field.name): \(name)")
                    }
                }
            }
        }
        #expect(wrong == [], "\(typed.value.uuid)")
    }

    /// The words of a name, each by its first four letters.
    private static func stems(_ name: String) -> Set<String> {
        var words: [String] = [""]
        for character in name {
            if !character.isLetter {
                words.append("")
            } else if character.isUppercase, words.last?.last?.isLowercase == true {
                words.append(character.lowercased())
            } else {
                words[words.count - 1] += character.lowercased()
            }
        }
        return Set(words.map { String($0.prefix(4)) }).subtracting([""])
    }

    /// Lines with other units than the format's, with the reason.
    private static let otherLines: [BluetoothUUID: String] = [
        BluetoothUUID(0x2A34): "amounts of food and medicine in g, mg and mL",
        BluetoothUUID(0x2A18): "the time that the user sees, instead of the offset",
    ]

    @Test(arguments: TypedFields.all.indices)
    func `the line of a typed value has the units and numbers of the format's`(_ index: Int) throws {
        let typed = TypedFields.all[index]
        let format = try #require(ValueFormat(of: typed.value.uuid))
        guard Self.otherLines[typed.value.uuid] == nil else { return }
        var wrong: [String] = []
        Self.eachValue(of: typed, format, seed: UInt64(index)) { bytes, fields, value in
            guard value is any CustomStringConvertible, !(value is any Numeric),
                !typed.isOtherwiseSpelled(bytes, TypedProperty.flattened(value))
            else { return }
            // A pace has its distance in the name of the field.
            let (line, text) = ("\(value)".replacing(" per 500 m", with: ""), FieldValue.text(fields))
            let theirs = Quantity.all(in: text)
            for ours in Quantity.all(in: line) where !theirs.contains(where: ours.isSame) {
                wrong.append("\(ours) of “\(line)” is not in “\(text)”")
            }
        }
        #expect(wrong.isEmpty, "\(typed.value.uuid): \(wrong.count)")
    }

    /// Calls a closure for random bytes that both read.
    private static func eachValue(
        of typed: TypedFields, _ format: ValueFormat, seed: UInt64,
        _ body: (_ bytes: [UInt8], _ fields: [FieldValue], _ value: any Sendable) -> Void
    ) {
        var generator = SeededGenerator(seed: seed)
        for count in 0...32 {
            for round in 0..<20 {
                let limit: UInt8 = round % 2 == 0 ? 31 : 255
                let bytes = (0..<count).map { _ in UInt8.random(in: 0...limit, using: &generator) }
                if let fields = try? format.decode(bytes), let value = try? typed.value.decode(bytes) {
                    body(bytes, fields, value)
                }
            }
        }
    }

    /// A number with its unit in a text; times are in seconds.
    private struct Quantity: CustomStringConvertible {
        let number: Double
        let unit: String

        var description: String { "\(number) \(unit)" }

        /// Whether both are the same but for rounding, and for a sign that is a word in a line, as in “discharging with
        /// 5 W”.
        func isSame(_ other: Quantity) -> Bool {
            let units = [unit, other.unit].map { $0 == "steps/min" ? "1/min" : $0 }
            return units[0] == units[1] && abs(abs(number) - abs(other.number)) <= 0.0051 + 1e-6 * abs(number)
        }

        private static let seconds: [String: Double] = ["d": 86400, "h": 3600, "min": 60, "s": 1]

        static func all(in text: String) -> [Quantity] {
            var result: [Quantity] = []
            // The parts of a time follow each other: 1 h 2 min 3 s.
            var end: String.Index?
            for match in text.matches(of: /(?:^|[ (\/])(-?\d[\d.]*(?:e[+-]?\d+)?) ?((?:1\/)?[^\s,;)\d]+)(?=$|[ ,;)])/) {
                guard let number = Double(match.output.1) else { continue }
                let unit = String(match.output.2)
                if let factor = seconds[unit] {
                    if let end, end == match.range.lowerBound, let last = result.popLast() {
                        result.append(Quantity(number: last.number + number * factor, unit: "s"))
                    } else {
                        result.append(Quantity(number: number * factor, unit: "s"))
                    }
                    end = match.range.upperBound
                } else if words[unit] != nil || ["mmHg", "kPa", "lb", "in", "°F", "mg/dL", "mmol/L"].contains(unit) {
                    result.append(Quantity(number: number, unit: unit))
                    end = nil
                }
            }
            return result
        }
    }
}
