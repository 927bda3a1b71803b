/// A factor and a summand in decimal digits. What they make of an integer is the number nearest to the exact result:
/// 213 tenths are 21.3.
package struct DecimalLine: Sendable {
    /// A number as digits and a power of ten.
    private struct Decimal: Sendable {
        var digits: Int128
        var exponent: Int

        init(_ number: Double) {
            let parts = "\(number)".split(separator: "e")
            let number = parts.first?.split(separator: ".") ?? []
            let fraction = number.count > 1 && number[1] != "0" ? number[1] : ""
            digits = Int128((number.first ?? "0") + fraction) ?? 0
            exponent = (parts.count > 1 ? Int(parts[1]) ?? 0 : 0) - fraction.count
        }

        /// Returns the digits for a lower power of ten. Nil if there are too many.
        func digits(at lower: Int) -> Int128? {
            var result = digits
            for _ in lower..<exponent {
                let (product, overflows) = result.multipliedReportingOverflow(by: 10)
                guard !overflows else { return nil }
                result = product
            }
            return result
        }
    }

    package let factor: Double
    package let summand: Double
    private let decimals: (factor: Decimal, summand: Decimal)

    package init(factor: Double = 1, summand: Double = 0) {
        (self.factor, self.summand) = (factor, summand)
        decimals = (Decimal(factor), Decimal(summand))
    }

    /// Whether numbers stay as they are.
    var isIdentity: Bool { factor == 1 && summand == 0 }

    package func callAsFunction(_ integer: Int64) -> Double {
        let (factor, summand) = decimals
        let lower = min(factor.exponent, summand.exponent)
        guard let multiplier = factor.digits(at: lower), let offset = summand.digits(at: lower) else {
            return self(Double(integer))
        }
        let (product, overflows) = multiplier.multipliedReportingOverflow(by: Int128(integer))
        let (sum, exceeds) = product.addingReportingOverflow(offset)
        guard !overflows, !exceeds, let result = Double("\(sum)e\(lower)") else { return self(Double(integer)) }
        return result
    }

    package func callAsFunction(_ number: Double) -> Double { number * factor + summand }
}
