internal import BLE

extension BTHome: CustomStringConvertible {
    /// The objects in a line, such as `battery 97 %, temperature 25.06 °C, window open`, or, if they are encrypted,
    /// `encrypted, counter 7`.
    ///
    /// Bytes after the known objects are counted: `temperature 25.06 °C, 3 unknown bytes`. A report without objects is
    /// `no objects`.
    public var description: String {
        switch payload {
        case .encrypted(let sealed): sealed.description
        case .plain([], rest: []): "no objects"
        case .plain(let objects, let rest):
            (objects.map(\.description) + (rest.isEmpty ? [] : [Self.count(rest)])).joined(separator: ", ")
        }
    }

    private static func count(_ rest: [UInt8]) -> String { "\(rest.count) unknown byte\(rest.count == 1 ? "" : "s")" }
}

extension BTHomeSealed: CustomStringConvertible {
    /// The state of encrypted objects, such as `encrypted, counter 7`.
    public var description: String { "encrypted, counter \(counter)" }
}

extension BTHomeObject: CustomStringConvertible {
    /// The name and the value with its unit, such as `temperature 25.06 °C`, `window open`, `button double press`,
    /// `dimmer rotate left 3 steps`, `command toggle 0x0102`, `firmware version 1.2.3` or `raw 0x0102`.
    ///
    /// Text from a device is unchanged, including any control characters.
    public var description: String {
        switch content {
        case .number(let number): "\(kind.name) \(kind.value(number).text(kind.unit))"
        case .flag(let isOn): "\(kind.name) \(kind.words(isOn))"
        case .button(let button): "\(kind.name) \(button)"
        case .dimmer(.none, _): "\(kind.name) none"
        case .dimmer(let direction, let steps): "\(kind.name) \(direction) \(steps) step\(steps == 1 ? "" : "s")"
        case .command(let command, []): "\(kind.name) \(command)"
        case .command(let command, let arguments): "\(kind.name) \(command) 0x\(Hex.string(arguments))"
        case .text(let text): "\(kind.name) \(text)"
        case .raw(let bytes): "\(kind.name) " + (bytes.isEmpty ? "no bytes" : "0x\(Hex.string(bytes))")
        case .version(let numbers): "\(kind.name) \(numbers.map { "\($0)" }.joined(separator: "."))"
        }
    }
}

extension BTHomeKind {
    /// Returns a number of steps in the unit, without the overflow of integers. NaN if the kind is not a number.
    fileprivate func value(_ number: Int64) -> Double {
        switch coding {
        case .unsigned(_, let step), .signed(_, let step):
            Double(number) * Double(step.numerator) / Double(step.denominator)
        default: .nan
        }
    }
}

extension BTHomeButton: CustomStringConvertible {
    /// The event in words, such as `double press`.
    public var description: String {
        switch self {
        case .none: "none"
        case .press: "press"
        case .doublePress: "double press"
        case .triplePress: "triple press"
        case .longPress: "long press"
        case .longDoublePress: "long double press"
        case .longTriplePress: "long triple press"
        case .holdPress: "hold press"
        case .holdRelease: "hold release"
        }
    }
}

extension BTHomeDimmer: CustomStringConvertible {
    /// The direction in words, such as `rotate left`.
    public var description: String {
        switch self {
        case .none: "none"
        case .rotateLeft: "rotate left"
        case .rotateRight: "rotate right"
        }
    }
}

extension BTHomeCommand: CustomStringConvertible {
    /// The command in words, such as `step up`.
    public var description: String {
        switch self {
        case .off: "off"
        case .on: "on"
        case .toggle: "toggle"
        case .stepUp: "step up"
        case .stepDown: "step down"
        }
    }
}

extension Double {
    /// Returns the number with its unit, in at most 6 decimal places and without trailing zeros, such as `25.06 °C`,
    /// `90°` or `3`.
    fileprivate func text(_ unit: String) -> String {
        guard magnitude < 1e12 else { return "not known" }
        let digits = String(Int((magnitude * 1e6).rounded()))
        let padded = String(repeating: "0", count: Swift.max(0, 7 - digits.count)) + digits
        var fraction = padded.suffix(6)
        while fraction.last == "0" { fraction.removeLast() }
        let number = (self < 0 ? "-" : "") + padded.dropLast(6) + (fraction.isEmpty ? "" : ".") + fraction
        return number + (unit.isEmpty || unit == "°" ? "" : " ") + unit
    }
}
