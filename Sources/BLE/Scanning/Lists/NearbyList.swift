/// The peripherals nearby at one point in time, in the order of discovery. A subscript returns nil if there is no such
/// peripheral.
///
/// ```swift
/// for try await list in central.nearby() {
///     print(list.count, list[0]?.peripheral ?? "none", list.strongest?.advertisement.rssi ?? 0)
/// }
/// ```
public struct NearbyList: Sequence, Sendable {
    /// The peripherals, in the order of discovery.
    public let discoveries: [Discovery]

    init(_ discoveries: [Discovery]) { self.discoveries = discoveries }

    /// Creates an iterator over the peripherals, in the order of discovery.
    public func makeIterator() -> IndexingIterator<[Discovery]> { discoveries.makeIterator() }

    /// The number of peripherals.
    public var count: Int { discoveries.count }
    /// Whether there are no peripherals.
    public var isEmpty: Bool { discoveries.isEmpty }
    /// The peripheral that was discovered first.
    public var first: Discovery? { discoveries.first }

    /// The peripheral with the strongest signal.
    public var strongest: Discovery? {
        discoveries.max { ($0.advertisement.rssi ?? .min) < ($1.advertisement.rssi ?? .min) }
    }

    /// The peripheral at a zero-based index. Nil if the index is out of range.
    public subscript(index: Int) -> Discovery? {
        discoveries.indices.contains(index) ? discoveries[index] : nil
    }

    /// The peripheral with the given id. Nil if it is not nearby. Takes time proportional to the length of the list.
    public subscript(id: Peripheral.ID) -> Discovery? {
        discoveries.first { $0.peripheral.id == id }
    }
}

/// Keeps the peripherals that a scan has found and not lost, in the order of discovery.
///
/// Applying an event takes constant time, amortized.
struct NearbyTracker {
    /// The peripherals in order. A lost peripheral is replaced by nil.
    private var places: [Discovery?] = []
    private var indices: [Peripheral.ID: Int] = [:]

    /// The peripherals that are not lost. Takes time proportional to their number.
    var discoveries: [Discovery] { places.compactMap { $0 } }

    /// Applies an event. Returns true if it has changed the list.
    mutating func take(_ event: DiscoveryEvent) -> Bool {
        switch event {
        case .found(let discovery), .updated(let discovery):
            guard let index = indices[discovery.peripheral.id] else {
                indices[discovery.peripheral.id] = places.count
                places.append(discovery)
                return true
            }
            guard places[index] != discovery else { return false }
            places[index] = discovery
            return true
        case .lost(let peripheral):
            guard let index = indices.removeValue(forKey: peripheral.id) else { return false }
            places[index] = nil
            // Done only when most places are empty, so that each loss takes constant time, amortized.
            if places.count > 2 * indices.count { close() }
            return true
        case .waiting: return false
        }
    }

    /// Removes the empty places.
    private mutating func close() {
        places.removeAll { $0 == nil }
        for (index, discovery) in places.enumerated() {
            if let discovery { indices[discovery.peripheral.id] = index }
        }
    }
}
