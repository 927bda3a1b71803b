// Written by Scripts/assigned-numbers, from bluetooth-sig 0.6.0.
// swift-format-ignore-file

extension NumberTable {
    /// Browse group identifiers: 1.
    static var browseGroups: NumberTable {
        NumberTable(#"""
        1002 PublicBrowseRoot

        """#)
    }
}
