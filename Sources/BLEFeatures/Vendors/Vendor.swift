public import BLE

/// A plug-in that recognizes the devices of one vendor and creates the objects that represent them.
///
/// ```swift
/// let vendors = Vendors([ELM327Vendor(), GoTennaMesh()])
/// for try await found in vendors.discoveries(central) {
///     if let device = try await found.device() as? ELM327 { print(try await device.send("ATZ")) }
/// }
/// ```
public protocol Vendor: Sendable {
    /// The type that represents a claimed peripheral in the program.
    associatedtype Product: Sendable
    /// The vendor's name.
    var name: String { get }
    /// The services that the vendor's devices advertise. Empty if the devices are not recognized by their services.
    var services: Set<BluetoothUUID> { get }
    /// Returns whether the given advertisement is from one of the vendor's devices.
    func claims(_ advertisement: Advertisement) -> Bool
    /// Returns the device for a peripheral. Does not connect to it.
    func device(_ peripheral: Peripheral) async throws(BLEError) -> Product
}

/// The vendors that a program supports. The first one that claims a peripheral owns it.
public struct Vendors: Sendable {
    /// The vendors, in order of precedence.
    public let all: [any Vendor]

    /// Creates a list of vendors, in order of precedence.
    public init(_ all: [any Vendor]) { self.all = all }

    /// Returns the vendor that owns a peripheral with the given advertisement. Nil if no vendor claims it.
    public func owner(of advertisement: Advertisement) -> (any Vendor)? { all.first { $0.claims(advertisement) } }

    /// Returns the discovered peripherals with their owners. Iterating starts a scan; leaving the loop stops it.
    ///
    /// A peripheral that was reported without an owner is reported again when a later advertisement is claimed.
    ///
    /// - Parameters:
    ///   - central: the central that scans.
    ///   - onlyClaimed: whether to report only claimed peripherals. If true, and if every vendor has services, the scan
    ///     is limited to these. If false, all peripherals are reported, including those that no vendor claims.
    public func discoveries(_ central: Central, onlyClaimed: Bool = false) -> VendorDiscoveries {
        var criteria = DiscoveryCriteria.any
        if onlyClaimed {
            let services = all.map(\.services)
            if !services.contains(where: \.isEmpty) {
                criteria = DiscoveryCriteria(services: services.reduce(into: []) { $0.formUnion($1) })
            }
            criteria = criteria && .custom { [self] in owner(of: $0) != nil }
        }
        return VendorDiscoveries(vendors: self, events: central.discoveryEvents(matching: criteria, staleAfter: nil))
    }
}

/// A discovered peripheral and its owner.
public struct VendorDiscovery: Identifiable, Sendable {
    /// The id of the peripheral.
    public var id: Peripheral.ID { discovery.id }
    /// The discovery.
    public let discovery: Discovery
    /// The vendor that owns the peripheral. Nil if no vendor claims it.
    public let vendor: (any Vendor)?

    /// Returns the owner's device, or the peripheral itself if no vendor claims it.
    public func device() async throws(BLEError) -> any Sendable {
        guard let vendor else { return discovery.peripheral }
        return try await vendor.device(discovery.peripheral)
    }
}

/// A sequence of discovered peripherals and their owners; see ``Vendors/discoveries(_:onlyClaimed:)``.
public struct VendorDiscoveries: AsyncSequence, Sendable {
    /// The type of the elements.
    public typealias Element = VendorDiscovery
    /// The type of the errors that iterating throws.
    public typealias Failure = BLEError

    let vendors: Vendors
    let events: DiscoveryEvents

    /// Creates an iterator. Its first `next()` starts the scan.
    public func makeAsyncIterator() -> Iterator { Iterator(vendors: vendors, base: events.makeAsyncIterator()) }

    /// An iterator over the discoveries.
    public struct Iterator: AsyncIteratorProtocol {
        let vendors: Vendors
        var base: DiscoveryEvents.Iterator
        /// The peripherals that no vendor has claimed yet.
        private var unclaimed: Set<Peripheral.ID> = []

        init(vendors: Vendors, base: DiscoveryEvents.Iterator) {
            self.vendors = vendors
            self.base = base
        }

        /// Returns the next discovery.
        public mutating func next() async throws(BLEError) -> VendorDiscovery? {
            try await next(isolation: #isolation)
        }

        /// Returns the next discovery, without leaving the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(BLEError) -> VendorDiscovery? {
            while let event = try await base.next(isolation: actor) {
                switch event {
                case .found(let discovery):
                    let vendor = vendors.owner(of: discovery.advertisement)
                    if vendor == nil { unclaimed.insert(discovery.peripheral.id) }
                    return VendorDiscovery(discovery: discovery, vendor: vendor)
                case .updated(let discovery):
                    guard unclaimed.contains(discovery.peripheral.id),
                        let vendor = vendors.owner(of: discovery.advertisement)
                    else { continue }
                    unclaimed.remove(discovery.peripheral.id)
                    return VendorDiscovery(discovery: discovery, vendor: vendor)
                case .lost(let peripheral): unclaimed.remove(peripheral.id)
                case .waiting: break
                }
            }
            return nil
        }
    }
}
