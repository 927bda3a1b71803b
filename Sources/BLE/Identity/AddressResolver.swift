/// Finds the device that a resolvable private address belongs to, among devices whose keys are known.
///
/// ```swift
/// var resolver = AddressResolver([(key: watchKey, device: 1), (key: phoneKey, device: 2)])
/// for try await found in central.discoveries() {
///     if let number = resolver.device(at: found.peripheral.id) { print("device", number) }
/// }
/// ```
///
/// A central has one for the names of ``Central/Configuration/identities``. Another is needed only for values of a
/// program's own, or for addresses that do not come from a central.
///
/// The first packet with an address costs an encrypted block for each key up to the one that resolves it, so for
/// all keys if none does. The results for the latest addresses are kept, also for those of other devices, so that
/// later packets cost a look-up. An address that is not among the latest ones costs the blocks again. A central has at
/// most 256 keys; a program's own resolver should have no more.
public struct AddressResolver<Device: Sendable>: Sendable {
    private let devices: [(key: IdentityResolvingKey, device: Device)]
    private let capacity: Int
    /// The results, as positions among the devices: nil for an address of another device. When the latest ones
    /// have half of the capacity, they take the place of the former ones.
    private var latest: [DeviceID: Int?] = [:]
    private var former: [DeviceID: Int?] = [:]
    /// The number of addresses that were tried with the keys.
    private(set) var triedCount = 0

    /// Creates a resolver. Of two devices with the same key, the first one is found.
    ///
    /// - Parameter capacity: the maximum number of results that are kept. With BlueZ, a result has about 100 bytes.
    public init(_ devices: [(key: IdentityResolvingKey, device: Device)], capacity: Int = 4096) {
        self.devices = devices
        self.capacity = capacity
    }

    /// The number of results that are kept.
    var count: Int { latest.count + former.count }

    /// Returns the device with an address. Nil if it is that of none of the devices, if it is not resolvable, and
    /// for an id that is not an address.
    public mutating func device(at id: DeviceID) -> Device? {
        // The two highest bits are 01.
        guard !devices.isEmpty, let address = id.address, address >> 46 == 1 else { return nil }
        return position(id).map { devices[$0].device }
    }

    private mutating func position(_ id: DeviceID) -> Int? {
        if let known = latest[id] { return known }
        let position = if let known = former[id] { known } else { resolve(id) }
        if latest.count >= max(1, capacity / 2) { (former, latest) = (latest, [:]) }
        latest.updateValue(position, forKey: id)
        return position
    }

    private mutating func resolve(_ id: DeviceID) -> Int? {
        guard let address = Hex.bytes(id.rawValue), address.count == 6 else { return nil }
        triedCount += 1
        return devices.firstIndex { $0.key.resolves(address) }
    }
}
