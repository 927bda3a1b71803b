extension String {
    /// Whether the string contains another, byte for byte. The standard library's search is part of its regular
    /// expressions, which add more than a megabyte to a program.
    package func contains(text: String) -> Bool {
        var (text, whole) = (text, self)
        return whole.withUTF8 { whole in
            text.withUTF8 { text in
                guard text.count <= whole.count else { return false }
                return (0...whole.count - text.count).contains { start in
                    whole[start..<start + text.count].elementsEqual(text)
                }
            }
        }
    }
}
