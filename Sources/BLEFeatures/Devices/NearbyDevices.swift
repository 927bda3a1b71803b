public import BLE
internal import Synchronization

/// The devices that are near; see ``Devices/nearby()``.
public struct NearbyDevices: AsyncSequence, Sendable {
    /// What arrives: the list as it is then.
    public typealias Element = [DiscoveredDevice]
    /// Why iterating can fail.
    public typealias Failure = BLEError

    let devices: Devices
    let lists: Nearby

    /// An iterator; its first `next()` starts the scan.
    public func makeAsyncIterator() -> Iterator { Iterator(devices: devices, lists: lists.makeAsyncIterator()) }

    /// Reads the lists.
    public struct Iterator: AsyncIteratorProtocol {
        let devices: Devices
        var lists: Nearby.Iterator

        /// The next list.
        public mutating func next() async throws(BLEError) -> [DiscoveredDevice]? {
            try await next(isolation: #isolation)
        }

        /// The next list, without leaving the caller's actor.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(BLEError) -> [DiscoveredDevice]? {
            guard let list = try await lists.next(isolation: actor) else { return nil }
            let found = list.compactMap { devices.device(in: $0) }
            let now = devices.central.elapsed()
            devices.listed.withLock { $0 = (found, now) }
            return found
        }
    }
}
