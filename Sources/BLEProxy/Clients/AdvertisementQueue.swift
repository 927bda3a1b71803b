internal import BLEESPHome
internal import Waiting

/// The advertisements that wait for a client. When there are too many, the oldest are dropped and counted.
struct AdvertisementQueue {
    /// The maximum number of advertisements. Each has up to 1650 bytes.
    static let capacity = 512

    private var waiting = Fifo<RawAdvertisement>()
    private(set) var count = 0
    private(set) var droppedCount = 0

    mutating func append(_ advertisement: RawAdvertisement) {
        if count == Self.capacity {
            _ = waiting.popFirst()
            droppedCount += 1
        } else {
            count += 1
        }
        waiting.append(advertisement)
    }

    /// Removes the oldest advertisements, up to a number of them.
    mutating func take(_ maximum: Int) -> [RawAdvertisement] {
        var taken: [RawAdvertisement] = []
        while taken.count < maximum, let next = waiting.popFirst() { taken.append(next) }
        count -= taken.count
        return taken
    }

    /// Drops all of them, uncounted, for a client that wants no more.
    mutating func removeAll() {
        waiting = Fifo()
        count = 0
    }
}
