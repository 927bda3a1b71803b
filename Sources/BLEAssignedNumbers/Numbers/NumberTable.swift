/// Numbers of 16 bits and their names, stored in the executable. Nothing is built at startup or kept in memory.
///
/// Each line has four lowercase hexadecimal digits, a space, the name, and a newline. Lines are in ascending order.
struct NumberTable {
    private let text: StaticString

    init(_ text: StaticString) {
        self.text = text
    }

    /// Returns the name of a number.
    func name(_ number: UInt16) -> String? {
        text.withUTF8Buffer { bytes in
            var (low, high) = (0, bytes.count)
            while low < high {
                var start = (low + high) / 2
                while start > low, bytes[start - 1] != Self.newline { start -= 1 }
                let line = Line(bytes, at: start)
                if line.number == number { return String(decoding: line.name, as: UTF8.self) }
                if line.number < number { low = line.end } else { high = start }
            }
            return nil
        }
    }

    /// Returns the numbers, in ascending order, whose names in UTF-8 satisfy the predicate, with their names.
    func entries(where isWanted: (UnsafeBufferPointer<UInt8>) -> Bool) -> [(number: UInt16, name: String)] {
        text.withUTF8Buffer { bytes in
            var entries: [(number: UInt16, name: String)] = []
            var start = 0
            while start < bytes.count {
                let line = Line(bytes, at: start)
                if isWanted(line.name) { entries.append((line.number, String(decoding: line.name, as: UTF8.self))) }
                start = line.end
            }
            return entries
        }
    }

    private static let newline = UInt8(ascii: "\n")

    private struct Line {
        let number: UInt16
        let name: UnsafeBufferPointer<UInt8>
        /// The index at which the next line begins.
        let end: Int

        init(_ bytes: UnsafeBufferPointer<UInt8>, at start: Int) {
            var number: UInt16 = 0
            for digit in start..<start + 4 { number = number << 4 | UInt16(Self.digit(bytes[digit])) }
            self.number = number
            var end = start + 5
            while bytes[end] != NumberTable.newline { end += 1 }
            name = UnsafeBufferPointer(rebasing: bytes[start + 5..<end])
            self.end = end + 1
        }

        private static func digit(_ character: UInt8) -> UInt8 {
            character <= UInt8(ascii: "9") ? character - UInt8(ascii: "0") : character - UInt8(ascii: "a") + 10
        }
    }
}
