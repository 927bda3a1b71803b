extension Double {
    /// Returns the number with its unit and without trailing zeros, such as `24.3 °C`, or `not known` if it is not
    /// finite.
    ///
    /// - Parameter places: the maximum number of decimal places, 0 to 4.
    func text(_ unit: String, places: Int) -> String {
        guard isFinite else { return "not known" }
        let scale: Double = [1, 10, 100, 1000, 10000][places]
        // Rounding large numbers would overflow, and numbers that become 0 may be -0.
        let rounded = magnitude < 1e12 ? (self * scale).rounded() / scale : self
        let text = rounded == 0 ? "0" : "\(rounded)"
        return (text.hasSuffix(".0") ? String(text.dropLast(2)) : text) + " " + unit
    }
}

extension [String?] {
    /// The parts that are present, separated by commas. `not known` if there are none.
    var line: String {
        let parts = compactMap(\.self)
        return parts.isEmpty ? "not known" : parts.joined(separator: ", ")
    }
}
