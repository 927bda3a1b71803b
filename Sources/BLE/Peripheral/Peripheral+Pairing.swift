extension Peripheral {
    /// Pairs with the peripheral, so that the link is encrypted now and whenever it is reestablished.
    ///
    /// Connects if there is no link. The prompts that the user sees depend on both sides and on the configuration's
    /// ``PairingBehavior``. Cancellation, or the deadline, ends the pairing, withdraws its prompts, and ends a link
    /// that was established for it. A pairing that fails or is cancelled may end any link.
    ///
    /// A peripheral with a private address discloses its identity address when it pairs; see ``pairingState()``. This
    /// handle stays valid until Bluetooth restarts.
    ///
    /// Throws `alreadyPaired`, `pairingFailed`, `pairingRejected`, `pairingCancelled`, `pairingTimedOut`, and what
    /// connecting throws.
    ///
    /// - Parameter timeout: the maximum time for connecting and pairing together, including the user's answers. Nil for
    ///   90 s, or for the configuration's operation timeout if that is longer.
    public func pair(timeout: Duration? = nil) async throws(BLEError) {
        try await central.pair(id, timeout: timeout ?? max(.seconds(90), central.configuration.operationTimeout))
    }

    /// Removes the bond and everything else that the system knows about the peripheral: its link, its trust, its name.
    ///
    /// The peripheral must be discovered again before it can be connected to. Does nothing if the peripheral is not
    /// paired.
    ///
    /// The peripheral may keep its half of the bond, and may have to be told to forget it before it pairs again.
    public func unpair() async throws(BLEError) {
        try await central.unpair(id)
    }

    /// Returns whether there is a bond, and the system's settings for the peripheral. Throws `peripheralNotFound`.
    public func pairingState() async throws(BLEError) -> PairingState {
        try await central.pairingState(id)
    }

    /// Whether there are keys for an encrypted link. False for a peripheral that the system does not know.
    public var isPaired: Bool {
        get async throws(BLEError) {
            do throws(BLEError) {
                return try await central.pairingState(id).isPaired
            } catch  where error.code == .peripheralNotFound {
                return false
            }
        }
    }

    /// Sets whether the system lets the peripheral use services without authorization. Throws `peripheralNotFound`.
    public func setTrusted(_ isTrusted: Bool) async throws(BLEError) {
        try await central.set(.trusted, isTrusted, id)
    }

    /// Sets whether the system rejects every link to the peripheral. Blocking ends an existing link. Throws
    /// `peripheralNotFound`.
    public func setBlocked(_ isBlocked: Bool) async throws(BLEError) {
        try await central.set(.blocked, isBlocked, id)
    }
}
