internal import BLE

extension SimulatedRadio {
    static let adapterID = "hci0"
    static let adapterName = "simulated"

    /// Blocks or unblocks the radio, like a kill switch. A blocked adapter is off, and cannot be powered on. Unblocking
    /// powers it on if it was on before.
    public func setBlocked(_ isBlocked: Bool) {
        guard isBlocked != self.isBlocked else { return }
        if isBlocked {
            isOnUnblocked = isPowered
            setPowered(false)
            self.isBlocked = true
        } else {
            self.isBlocked = false
            if isOnUnblocked { setPowered(true) }
        }
    }

    var adapter: Adapter {
        Adapter(
            id: Self.adapterID, address: "00:00:00:00:00:00", name: adapterAlias, isPowered: isPowered,
            isDiscovering: ports.values.contains { $0.filter != nil }, isInUse: true)
    }

    private func check(_ adapter: String?) throws(BLEError) {
        guard isRunning else { throw Self.lost }
        guard adapter == nil || adapter == Self.adapterID else {
            throw BLEError(
                .adapterNotFound, "there is no adapter \(adapter ?? "")", remedy: "Choose \(Self.adapterID).")
        }
    }

    func switchAdapter(_ isPowered: Bool, _ adapter: String?) throws(BLEError) {
        try check(adapter)
        guard !isPowered || !isBlocked else {
            throw BLEError(
                .blocked, "a radio kill switch blocks the adapter", remedy: "Unblock it: setBlocked(false).")
        }
        setPowered(isPowered)
    }

    func nameAdapter(_ alias: String, _ adapter: String?) throws(BLEError) {
        try check(adapter)
        adapterAlias = alias.isEmpty ? Self.adapterName : alias
    }
}
