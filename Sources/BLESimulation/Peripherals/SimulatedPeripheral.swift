public import BLE

/// A handle for a peripheral of a simulated radio, for tests.
public struct SimulatedPeripheral: Sendable, Identifiable {
    /// The id by which centrals know the peripheral. If it rotates its ``address``, this is its identity address, by
    /// which only those know it that have a bond.
    public let id: Peripheral.ID
    let radio: SimulatedRadio

    /// Creates a handle. Has no effect while the radio has no such peripheral.
    package init(id: Peripheral.ID, radio: SimulatedRadio) {
        self.id = id
        self.radio = radio
    }

    /// Ends the link as if the peripheral disconnected.
    public func disconnect() async {
        radio.log(fault: "disconnect", of: id)
        await radio.endLinks(id, BLEError(.disconnected, "the peripheral ended the link", disconnectReason: .remote))
    }

    /// Ends the link as if the peripheral was out of range.
    public func dropLink() async {
        radio.log(fault: "dropLink", of: id)
        await radio.endLinks(id, SimulatedRadio.linkLost)
    }

    /// Starts or stops advertising. A peripheral that does not advertise cannot be connected to.
    public func setAdvertising(_ isAdvertising: Bool) async {
        radio.log(fault: "setAdvertising(\(isAdvertising))", of: id)
        await radio.setAdvertising(isAdvertising, id)
    }

    /// Sets whether the peripheral accepts links. One that does not still advertises, but does not answer attempts to
    /// connect, which therefore wait. Its link stays: ``dropLink()`` ends it.
    public func setAcceptsLinks(_ acceptsLinks: Bool) async {
        radio.log(fault: "setAcceptsLinks(\(acceptsLinks))", of: id)
        await radio.setAcceptsLinks(acceptsLinks, id)
    }

    /// Runs `body` on each link from now on, from its beginning to its end, which cancels the body's task.
    ///
    /// ```swift
    /// await device.whileConnected { device in
    ///     try? await clock.sleep(for: .seconds(30))
    ///     await device.dropLink()   // no link lasts longer
    /// }
    /// ```
    public func whileConnected(_ body: @escaping @Sendable (SimulatedPeripheral) async -> Void) async {
        await radio.setOnLink(body, id)
    }

    /// Ends the links with an error of one's own.
    package func endLinks(_ error: BLEError) async { await radio.endLinks(id, error) }

    /// Replaces the advertisement.
    public func setAdvertisement(_ advertisement: Advertisement) async {
        radio.log(fault: "setAdvertisement", of: id)
        await radio.setAdvertisement(advertisement, id)
    }

    /// Stops the notifications of all characteristics of a type as if another program had stopped them, which
    /// bluetoothd permits for notifications over a channel. The channel ends.
    public func stopChannels(of characteristic: BluetoothUUID) async {
        radio.log(fault: "stopChannels(of: \(characteristic))", of: id)
        await radio.stopChannels(of: characteristic, id)
    }

    /// Sets the signal strength of the peripheral's links, in dBm. Nil, the default, if it is unknown, as with
    /// bluetoothd.
    public func setSignalStrength(_ strength: Int?) async {
        await radio.setSignalStrength(strength, id)
    }

    /// Sets the strength at which an adapter hears the peripheral's advertisements, in dBm, whatever the others hear.
    /// Nil puts the peripheral out of that adapter's range, which ends its link.
    ///
    /// - Parameter adapter: its id, such as `hci1`; see ``SimulatedRadio/addAdapter(_:)``.
    public func setStrength(_ strength: Int?, adapter: String) async {
        await radio.setStrength(strength, id, adapter: adapter)
    }

    /// Sets the strength of the advertisements and the links over time: in seconds from now, and in dBm.
    ///
    /// ```swift
    /// await device.play([(0, -50), (6, -75)])   // it is carried away
    /// ```
    ///
    /// Ends the former script of the strength.
    ///
    /// - Precondition: The times are finite, up to 10¹² s.
    public func play(_ strengths: [(seconds: Double, strength: Int)]) async {
        checkTimes(strengths.map(\.seconds))
        radio.log(fault: "play", of: id)
        await radio.play(strengths, id)
    }

    /// Replaces the services, as after an update of the peripheral's firmware. A central with a link is told that they
    /// have changed. Its subscriptions and packet writers remain in services that are as before, with the same handles,
    /// and end in the others. So do values, unless the definition of a characteristic has another one than before.
    public func setServices(_ services: [ServiceDefinition]) async {
        radio.log(fault: "setServices", of: id)
        await radio.setServices(services, id)
    }

    /// Replaces the address with a new resolvable private address, and returns that.
    ///
    /// A central without a bond discovers a stranger, no longer hears the former address, and forgets it 30 s later. An
    /// adapter with a bond resolves the address: its centrals go on with the id that they know, and with the identity
    /// address, ``id``. Links stay as they are until they end.
    @discardableResult
    public func rotateAddress() async -> Peripheral.ID {
        await radio.rotateAddress(of: id) ?? id
    }

    /// Replaces the address from now on after each interval, such as 15 minutes; see ``rotateAddress()``. Nil ends
    /// that, and the last address stays.
    ///
    /// - Precondition: The interval is positive.
    public func rotateAddress(every interval: Duration?) async {
        await radio.rotateAddress(of: id, every: interval)
    }

    /// Sets the key that new private addresses are made with: a central that has it recognizes the peripheral, see
    /// `Central.setIdentities(_:)`. The present address stays until ``rotateAddress()``. By default, addresses are such
    /// that no key resolves them.
    public func setIdentityKey(_ key: IdentityResolvingKey?) async {
        await radio.setIdentityKey(key, of: id)
    }

    /// The address under which it advertises: ``id``, or its latest private address.
    public var address: Peripheral.ID { get async { await radio.address(of: id) } }

    /// Removes the peripheral permanently, as if out of range.
    public func remove() async {
        radio.log(fault: "remove", of: id)
        await radio.remove(id)
    }

    /// Sets the value of all characteristics of a type, and notifies it to subscribers.
    public func notify(_ value: [UInt8], from characteristic: BluetoothUUID) async {
        if radio.notifyNow(value, characteristic, id) {
            await radio.executor.takeSomeTurns()
        } else {
            await radio.notify(value, characteristic, id)
        }
    }

    /// Sets the value of all characteristics of a type, and notifies it to subscribers. Throws what encoding throws.
    public func notify<Value>(_ value: Value, from characteristic: Characteristic<Value>) async throws(BLEError) {
        await notify(try characteristic.coding.encode(value), from: characteristic.key.characteristic)
    }

    /// Sets the value of one characteristic, and notifies it to subscribers. A key can tell equal characteristics apart
    /// by their handles.
    public func notify(_ value: [UInt8], from characteristic: CharacteristicKey) async {
        await radio.notify(value, characteristic, id)
    }

    /// Returns the centrals that are subscribed to a characteristic.
    public func subscribers<Value>(of characteristic: Characteristic<Value>) async -> [DeviceID] {
        await subscribers(of: characteristic.key)
    }

    /// Returns the centrals that are subscribed to a characteristic.
    public func subscribers(of characteristic: CharacteristicKey) async -> [DeviceID] {
        await radio.subscribers(of: characteristic, id)
    }

    /// The handles of the characteristics that a key identifies, in order.
    package func handles(of characteristic: CharacteristicKey) async -> [UInt16] {
        await radio.handles(of: characteristic, id)
    }

    /// Returns the current value of the first characteristic of a type; nil if there is none.
    public func value(of characteristic: BluetoothUUID) async -> [UInt8]? {
        await radio.value(characteristic, id)
    }

    /// Whether a central has a link to the peripheral.
    public var isConnected: Bool {
        get async { await radio.isConnected(id) }
    }

    /// Returns the number of the peripheral's characteristics of a type that have a subscriber.
    public func subscriberCount(of characteristic: BluetoothUUID) async -> Int {
        await radio.subscriberCount(characteristic, id)
    }

    /// The name that it advertises.
    package var advertisedName: String? { get async { await radio.advertisedName(id) } }

    /// Whether a central can find it, or is connected to it.
    package var isAdvertisingOrConnected: Bool { get async { await radio.isAdvertisingOrConnected(id) } }

    /// Changes the pairing method.
    public func setPairing(_ method: SimulatedPairing) async {
        radio.log(fault: "setPairing", of: id)
        await radio.setPairing(method, id)
    }

    /// Removes the peripheral's half of the bond, like a factory reset. Later links are not secure.
    public func loseBond() async {
        radio.log(fault: "loseBond", of: id)
        await radio.loseBond(id)
    }

    /// Whether this machine has a bond with the peripheral.
    public var isPaired: Bool {
        get async { await radio.isPaired(id) }
    }

    /// Whether a pairing is in progress.
    public var isPairing: Bool {
        get async { await radio.isPairing(id) }
    }
}
