public import BLE

/// A test's grip on a peripheral of a simulated radio.
public struct SimulatedPeripheral: Sendable, Identifiable {
    /// Its identity, as centrals see it.
    public let id: Peripheral.ID
    private let radio: SimulatedRadio

    init(id: Peripheral.ID, radio: SimulatedRadio) {
        self.id = id
        self.radio = radio
    }

    /// Ends the link as a peripheral does that has had enough.
    public func disconnect() async {
        await radio.endLink(id, BLEError(.disconnected, "the peripheral ended the link", disconnectReason: .remote))
    }

    /// Ends the link as a wall does that comes between.
    public func dropLink() async {
        await radio.endLink(id, BLEError(.disconnected, "the link was lost", disconnectReason: .timeout))
    }

    /// Goes on or stops advertising. A peripheral that does not advertise cannot be connected to.
    public func setAdvertising(_ isAdvertising: Bool) async {
        await radio.setAdvertising(isAdvertising, id)
    }

    /// Advertises something else from now on.
    public func setAdvertisement(_ advertisement: Advertisement) async {
        await radio.setAdvertisement(advertisement, id)
    }

    /// Stops the notifications of all characteristics of that type as another program does that has no right to: bluetoothd lets
    /// it where they come over a channel, which ends.
    public func stopChannels(of characteristic: BluetoothUUID) async {
        await radio.stopChannels(of: characteristic, id)
    }

    /// Says how strong its links are, in dBm; nil for a central that cannot tell, which is what bluetoothd is, and how it begins.
    public func setSignalStrength(_ strength: Int?) async {
        await radio.setSignalStrength(strength, id)
    }

    /// Takes the peripheral out of range for good.
    public func remove() async {
        await radio.remove(id)
    }

    /// Sets the value of all characteristics of that type, and notifies it to whoever is subscribed.
    public func notify(_ value: [UInt8], from characteristic: BluetoothUUID) async {
        await radio.notify(value, characteristic, id)
    }

    /// The present value of the first characteristic of that type; nil when there is none.
    public func value(of characteristic: BluetoothUUID) async -> [UInt8]? {
        await radio.value(characteristic, id)
    }

    /// Whether a central has a link to it.
    public var isConnected: Bool {
        get async { await radio.isConnected(id) }
    }

    /// How many of its characteristics of that type are subscribed to.
    public func subscriberCount(of characteristic: BluetoothUUID) async -> Int {
        await radio.subscriberCount(characteristic, id)
    }

    /// Pairs another way from now on.
    public func setPairing(_ method: PairingMethod) async {
        await radio.setPairing(method, id)
    }

    /// Loses its half of the bond, as after a reset to factory settings. Links that are made from now on are not secure.
    public func loseBond() async {
        await radio.loseBond(id)
    }

    /// Whether this machine has a bond with it.
    public var isPaired: Bool {
        get async { await radio.isPaired(id) }
    }

    /// Whether a pairing is under way.
    public var isPairing: Bool {
        get async { await radio.isPairing(id) }
    }
}
