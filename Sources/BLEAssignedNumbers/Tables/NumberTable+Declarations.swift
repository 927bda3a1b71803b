// Written by Scripts/assigned-numbers, from bluetooth-sig 0.6.0.
// swift-format-ignore-file

extension NumberTable {
    /// Declarations of attributes: 4.
    static var declarations: NumberTable {
        NumberTable(#"""
        2800 Primary Service
        2801 Secondary Service
        2802 Include
        2803 Characteristic

        """#)
    }
}
