public import BLE
internal import Synchronization

/// A sequence of lists of the devices in range; see ``Devices/nearby()``.
public struct NearbyDevices: AsyncSequence, Sendable {
    /// The type of the elements, each the complete list at that time.
    public typealias Element = [DiscoveredDevice]
    /// The type of the errors that iterating throws.
    public typealias Failure = BLEError

    let devices: Devices
    let lists: Nearby

    /// Creates an iterator. Its first `next()` starts the scan.
    public func makeAsyncIterator() -> Iterator { Iterator(devices: devices, lists: lists.makeAsyncIterator()) }

    /// An iterator over the lists.
    public struct Iterator: AsyncIteratorProtocol {
        let devices: Devices
        var lists: Nearby.Iterator

        /// Returns the next list.
        public mutating func next() async throws(BLEError) -> [DiscoveredDevice]? {
            try await next(isolation: #isolation)
        }

        /// Returns the next list, without leaving the caller's actor.
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
