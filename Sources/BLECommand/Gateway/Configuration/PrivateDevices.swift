import BLE
import Synchronization

/// The listed devices whose addresses are private, found by their keys.
final class PrivateDevices: Sendable {
    private let resolver: Mutex<AddressResolver<ListedDevice>>

    init(_ devices: [ListedDevice]) {
        resolver = Mutex(
            AddressResolver(
                devices.compactMap { device -> (key: IdentityResolvingKey, device: ListedDevice)? in
                    if case .identity(let key) = device.match { (key: key, device: device) } else { nil }
                }))
    }

    /// Returns the entry of a private address. Nil if no key resolves it.
    func entry(of peripheral: Peripheral.ID) -> ListedDevice? {
        resolver.withLock { $0.device(at: peripheral) }
    }
}
