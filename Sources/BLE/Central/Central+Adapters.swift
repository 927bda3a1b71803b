extension Central {
    /// The longest name that an adapter can have, in bytes of UTF-8: BlueZ cuts the specification's 248 by one, silently.
    private static let longestName = 247

    /// Switches an adapter on or off, and returns once it is. Off ends its scans and links, those of other programs too.
    ///
    /// Throws `adapterNotFound`; `blocked` when a radio kill switch holds the adapter off; `unauthorized`.
    ///
    /// - Parameter adapter: the id, such as `hci1`; nil for the adapter in use.
    public func setPowered(_ isPowered: Bool, adapter: String? = nil) async throws(BLEError) {
        try checkRunning()
        try await perform(timeout: configuration.operationTimeout, name: "switching the adapter") {
            (backend) throws(BLEError) in try await backend.setPowered(isPowered, adapter: adapter)
        }
    }

    /// Gives an adapter the name that it shows to others, and returns once it has it. The system remembers it.
    ///
    /// Throws `adapterNotFound`, `invalidLength` for a name of more than 247 bytes, and `unauthorized`.
    ///
    /// - Parameters:
    ///   - alias: the name; the empty one gives the adapter the system's own name again.
    ///   - adapter: the id, such as `hci1`; nil for the adapter in use.
    public func setAlias(_ alias: String, adapter: String? = nil) async throws(BLEError) {
        try checkRunning()
        guard alias.utf8.count <= Self.longestName else {
            throw BLEError(
                .invalidLength, "the name has \(alias.utf8.count) bytes, of \(Self.longestName) possible",
                remedy: "Choose a shorter one.")
        }
        try await perform(timeout: configuration.operationTimeout, name: "naming the adapter") {
            (backend) throws(BLEError) in try await backend.setAlias(alias, adapter: adapter)
        }
    }
}
