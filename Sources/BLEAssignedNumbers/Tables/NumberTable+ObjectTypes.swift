// Written by Scripts/assigned-numbers, from bluetooth-sig 0.6.0.
// swift-format-ignore-file

extension NumberTable {
    /// Object types: 6.
    static var objectTypes: NumberTable {
        NumberTable(#"""
        2aca Unspecified
        2acb Directory Listing
        2ba9 Media Player Icon
        2baa Track Segment
        2bab Track
        2bac Group

        """#)
    }
}
