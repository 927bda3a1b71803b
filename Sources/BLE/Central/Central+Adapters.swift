internal import Waiting

extension Central {
    /// Powers an adapter on or off, and returns when its state has changed.
    ///
    /// Powering off ends the adapter's scans and links, including those of other programs.
    ///
    /// Throws `adapterNotFound`, `blocked` if a radio kill switch holds the adapter off, and `unauthorized`.
    ///
    /// - Parameter adapter: the id, such as `hci1`; nil for the adapter in use.
    public func setPowered(_ isPowered: Bool, adapter: String? = nil) async throws(BLEError) {
        try checkRunning()
        try await perform(timeout: configuration.operationTimeout, name: "powering the adapter on or off") {
            (backend) throws(BLEError) in try await backend.setPowered(isPowered, adapter: adapter)
        }
    }

    /// Sets the name that an adapter shows to other devices, and returns when it has changed. The system remembers the
    /// name.
    ///
    /// Throws `adapterNotFound`, `invalidLength` for a name that is longer than the stack allows (247 bytes with
    /// bluetoothd), and `unauthorized`.
    ///
    /// - Parameters:
    ///   - alias: the name. An empty name restores the system's name.
    ///   - adapter: the id, such as `hci1`; nil for the adapter in use.
    public func setAlias(_ alias: String, adapter: String? = nil) async throws(BLEError) {
        try checkRunning()
        guard alias.utf8.count <= backend.limits.adapterNameLength else {
            throw BLEError(
                .invalidLength,
                "the name has \(alias.utf8.count) bytes; at most \(backend.limits.adapterNameLength) are allowed",
                remedy: "Choose a shorter one.")
        }
        try await perform(timeout: configuration.operationTimeout, name: "setting the adapter's name") {
            (backend) throws(BLEError) in try await backend.setAlias(alias, adapter: adapter)
        }
    }
}
