internal import BLE
internal import DBus

/// The adapters of the machine.
extension BlueZStack {
    /// Returns all adapters that bluetoothd knows.
    func adapters() async throws(BLEError) -> [Adapter] {
        try await fence()
        return BlueZ.inOrder(tree.adapters.keys).compactMap { path in
            tree.adapters[path].map { adapter in
                Adapter(
                    id: BlueZ.adapterID(path), address: adapter.address, name: adapter.alias,
                    isPowered: adapter.isPowered, isDiscovering: adapter.isDiscovering, isInUse: path == choice.path)
            }
        }
    }

    private func path(ofAdapter id: String?) throws(BLEError) -> String {
        let path = id.map { BlueZ.path(ofAdapter: $0) } ?? choice.path
        guard isRunning else { throw unavailable }
        guard tree.adapters[path] != nil else {
            throw id == nil
                ? unavailable
                : BLEError(
                    .adapterNotFound, "there is no adapter \(BlueZ.adapterID(path))",
                    remedy: "Plug it in, or choose another.")
        }
        return path
    }

    /// Sets `Powered`.
    func setPowered(_ isPowered: Bool, adapter id: String?) async throws(BLEError) {
        let path = try path(ofAdapter: id)
        do throws(BLEError) {
            try await set("Powered", .boolean(isPowered), path)
        } catch {
            throw isPowered ? Self.refusal(error, of: BlueZ.adapterID(path), RadioSwitch.all()) : error
        }
        try await until(path) { $0.isPowered == isPowered }
    }

    /// Returns the error for an adapter that cannot be powered on. Since Linux 5.x, the kernel reports only a failure,
    /// not that the adapter is blocked; its kill switches show more.
    static func refusal(_ error: BLEError, of adapter: String, _ switches: [RadioSwitch]) -> BLEError {
        guard error.code == .failed || error.code == .blocked else { return error }
        let blocking = switches.filter { $0.isBlocking && $0.name == adapter }
        guard error.code == .blocked || !blocking.isEmpty else {
            var error = error
            error.message = "the adapter cannot be powered on: \(error.message)"
            error.remedy = "Look at the kernel's log: dmesg | grep -i bluetooth."
            return error
        }
        return .blocked(isHard: blocking.contains { $0.isHardBlocked }, error.cause as? DBusError)
    }

    /// How long to wait for an agent's capability. It takes milliseconds, but if there is another agent, and `Pairable`
    /// is off, nothing changes.
    private static let pairableGrace = Duration.seconds(1)

    /// Waits until the kernel has the capability of an agent that was just registered as the first one. It copies it to
    /// each link that it makes.
    ///
    /// bluetoothd answers the registration, and makes links, while other commands to the kernel are pending, behind
    /// which the capability waits: right behind the one that makes the adapter pairable, which is signaled. If the
    /// adapter is pairable already, as with another agent or `AlwaysPairable`, nothing shows when the capability
    /// arrives.
    func untilPairable() async {
        let path = choice.path
        _ = try? await waits.wait(forObject: path, within: Self.pairableGrace, clock: clock) { () throws(BLEError) in
            self.tree.adapters[path]?.isPairable == false ? nil : ()
        }
    }

    /// Sets `Alias`.
    func setAlias(_ alias: String, adapter id: String?) async throws(BLEError) {
        let path = try path(ofAdapter: id)
        try await set("Alias", .string(alias), path)
        try await until(path) { $0.alias == (alias.isEmpty ? $0.systemName : alias) }
    }

    private func set(_ property: String, _ value: DBusValue, _ path: String) async throws(BLEError) {
        _ = try await call(
            BlueZ.call(
                path, BlueZ.properties, "Set", .string(BlueZ.adapter), .string(property), .variant(value)),
            during: .adapter)
    }

    /// Waits until the change is signaled, which may be after the answer.
    private func until(
        _ path: String, _ matches: @escaping (ObjectTree.AdapterObject) -> Bool
    ) async throws(BLEError) {
        try await waits.wait(forObject: path, within: Self.promptly, clock: clock) { () throws(BLEError) in
            guard let adapter = self.tree.adapters[path] else { throw self.unavailable }
            return matches(adapter) ? () : nil
        }
    }
}
