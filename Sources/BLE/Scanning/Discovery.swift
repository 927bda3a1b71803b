/// A discovered peripheral, with its advertisement.
///
/// Stored and sent as an object with the peripheral's id, the advertisement, and the identity, if there is one. Reading
/// requires the central, as for a ``Peripheral``.
public struct Discovery: Hashable, Codable, Identifiable, Sendable {
    /// The id of the peripheral.
    public var id: Peripheral.ID { peripheral.id }
    /// The peripheral.
    public let peripheral: Peripheral
    /// The data that the peripheral advertises.
    public let advertisement: Advertisement
    /// The name of the device, if the peripheral's id is a private address that one of the central's keys resolves:
    /// see ``Central/setIdentities(_:)``. The same device may be discovered again under another id.
    public let identity: String?

    /// Creates a discovery, for example as the input of a program's tests.
    public init(peripheral: Peripheral, advertisement: Advertisement, identity: String? = nil) {
        self.peripheral = peripheral
        self.advertisement = advertisement
        self.identity = identity
    }
}

/// An event of a scan.
public enum DiscoveryEvent: Sendable {
    /// A peripheral was found that this scan had not reported before, or had reported lost.
    case found(Discovery)
    /// A reported peripheral sent a changed advertisement or, with duplicates, any advertisement.
    case updated(Discovery)
    /// A reported peripheral was silent for the staleness interval, or was removed by the system.
    case lost(Peripheral)
    /// Nothing can be found at present: the adapter is off (`poweredOff`) or absent (`adapterNotFound`), or Bluetooth
    /// stopped (`bluetoothLost`). The scan resumes automatically.
    case waiting(BLEError)
}
