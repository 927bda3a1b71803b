internal import BLE

/// The choice of the adapter, and its last reported state.
struct AdapterChoice {
    private let wanted: String?
    /// The object path of the adapter in use, such as `/org/bluez/hci0`. Empty before the first choice.
    private(set) var path = "" { didSet { prefix = path + "/" } }
    /// The beginning of the paths of the devices of the adapter in use.
    private var prefix = "/"
    private var reported = AdapterState.resetting
    /// Whether another adapter must not replace the one in use yet.
    private var isFormerAwaited = false

    /// - Parameter wanted: the adapter to use, such as `hci0`; nil for the one in use before, or else the first that is
    ///   powered on, or else the first.
    init(wanted: String?) {
        self.wanted = wanted
    }

    /// Whether an object is a device of the adapter in use, or belongs to one. False for all objects before the first
    /// choice.
    func includes(_ object: String) -> Bool { !path.isEmpty && object.hasPrefix(prefix) }

    /// The state of the adapter in use: unavailable if it is unplugged.
    func state(in tree: ObjectTree) -> AdapterState {
        guard let adapter = tree.adapters[path] else { return .unavailable }
        return adapter.isPowered ? .poweredOn : .poweredOff
    }

    private func preferred(in tree: ObjectTree) -> String? {
        let paths = BlueZ.inOrder(tree.adapters.keys)
        if let wanted { return paths.first { $0 == BlueZ.path(ofAdapter: wanted) } }
        if tree.adapters[path] != nil { return path }
        return paths.first { tree.adapters[$0]?.isPowered == true } ?? paths.first
    }

    /// Chooses at the start. Throws `adapterNotFound`.
    mutating func choose(in tree: ObjectTree) throws(BLEError) {
        if let path = preferred(in: tree) {
            self.path = path
            reported = state(in: tree)
        } else if let wanted {
            let others = BlueZ.inOrder(tree.adapters.keys).map(BlueZ.adapterID).joined(separator: ", ")
            throw BLEError(
                .adapterNotFound, "there is no adapter \(wanted)",
                remedy: others.isEmpty ? "Plug one in." : "Choose one of \(others).")
        } else {
            throw BLEError(
                .adapterNotFound, "this machine has no Bluetooth adapter that bluetoothd can use",
                remedy: "Plug one in; if there is one: rfkill unblock bluetooth, and look at journalctl -u bluetooth.")
        }
    }

    /// Records that bluetoothd is gone and that its loss is reported.
    mutating func lost() { reported = .resetting }

    /// Keeps the adapter in use, if bluetoothd shows it or no other is acceptable. Returns false if another could
    /// replace it.
    mutating func keep(in tree: ObjectTree) -> Bool {
        guard let preferred = preferred(in: tree), preferred == path || wanted != nil else { return false }
        path = preferred
        return true
    }

    /// Keeps the adapter in use, even if it is missing, until ``endWait(in:)``.
    mutating func beginWait() { isFormerAwaited = true }

    /// Ends the wait for the adapter in use, and chooses any acceptable one.
    ///
    /// - Parameter tree: nil if bluetoothd is gone again.
    mutating func endWait(in tree: ObjectTree?) {
        isFormerAwaited = false
        if let tree, let preferred = preferred(in: tree) { path = preferred }
    }

    /// Replaces the adapter in use if it is gone and there is another one. Returns whether it was replaced.
    mutating func replaceMissing(in tree: ObjectTree) -> Bool {
        guard !isFormerAwaited, tree.adapters[path] == nil, let preferred = preferred(in: tree) else { return false }
        path = preferred
        return true
    }

    /// Returns the state if it has changed since the last report, and counts it as reported.
    mutating func stateToReport(in tree: ObjectTree) -> AdapterState? {
        let state = state(in: tree)
        guard !isFormerAwaited, state != reported else { return nil }
        reported = state
        return state
    }
}
