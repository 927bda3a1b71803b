extension Peripheral {
    /// Pairs, so that the link is encrypted now and whenever it is made again.
    ///
    /// Connects when there is no link. Whether somebody is asked something, and what, depends on both sides and on the
    /// configuration's ``PairingBehavior``. Cancelling, or the deadline, ends the pairing and takes back its prompts; no
    /// link stays that was made for it. A failed pairing may end the link.
    ///
    /// A peripheral with a private address tells its identity address now: ``pairingState()`` has it. This handle stays good
    /// all the same, for as long as Bluetooth runs.
    ///
    /// Throws `alreadyPaired`, `pairingFailed`, `pairingRejected`, `pairingCancelled`, `pairingTimedOut`, and what connecting
    /// throws.
    ///
    /// - Parameter timeout: the longest that connecting and pairing may take together, with the time that people need to
    ///   answer; nil for 90 s, or the configuration's operation timeout where that is longer.
    public func pair(timeout: Duration? = nil) async throws(BLEError) {
        try await central.pair(id, timeout: timeout ?? max(.seconds(90), central.configuration.operationTimeout))
    }

    /// Removes the bond, and with it everything that the system knows of the peripheral: its link, its trust, its name. It has to
    /// be found again before there can be a link to it. Nothing happens to a peripheral that is not paired.
    ///
    /// The peripheral may still have its half of the bond, and may have to be told to forget it before it pairs again.
    public func unpair() async throws(BLEError) {
        try await central.unpair(id)
    }

    /// Whether there is a bond, and what else the system has been told about the peripheral. Throws `peripheralNotFound`.
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

    /// Tells the system to let the peripheral use services without asking, or no longer to. Throws `peripheralNotFound`.
    public func setTrusted(_ isTrusted: Bool) async throws(BLEError) {
        try await central.set(.trusted, isTrusted, id)
    }

    /// Tells the system to let no link to the peripheral come up, or to allow it again. Blocking ends a link that is there.
    /// Throws `peripheralNotFound`.
    public func setBlocked(_ isBlocked: Bool) async throws(BLEError) {
        try await central.set(.blocked, isBlocked, id)
    }
}
