public import BLE

/// A maker's devices as a plug-in: how they are recognized, and what they are to the program.
///
/// ```swift
/// let vendors = Vendors([ELM327Vendor(), GoTennaMesh()])
/// for try await found in vendors.discoveries(central) {
///     if let device = try await found.device() as? ELM327 { print(try await device.send("ATZ")) }
/// }
/// ```
public protocol Vendor: Sendable {
    /// What a claimed peripheral is to the program.
    associatedtype Product: Sendable
    /// What the vendor is called.
    var name: String { get }
    /// The services that its devices advertise; empty when they are not recognized by one.
    var services: Set<BluetoothUUID> { get }
    /// Whether a peripheral that advertises so is one of the vendor's.
    func claims(_ advertisement: Advertisement) -> Bool
    /// The device. No link is made for it.
    func device(_ peripheral: Peripheral) async throws(BLEError) -> Product
}

/// The vendors that a program knows. Who claims a peripheral first has it.
public struct Vendors: Sendable {
    /// In the order in which they are asked.
    public let all: [any Vendor]

    /// Vendors, the first to be asked first.
    public init(_ all: [any Vendor]) { self.all = all }

    /// Who has the peripheral that advertises so; nil when nobody claims it.
    public func owner(of advertisement: Advertisement) -> (any Vendor)? { all.first { $0.claims(advertisement) } }

    /// The peripherals that are discovered, with their owners. Iterating starts a scan, leaving the loop stops it.
    ///
    /// A peripheral that somebody claims only after it has said more is reported again then.
    ///
    /// - Parameter onlyClaimed: look for what the vendors' services say and report what they claim; otherwise every peripheral is
    ///   reported, those that nobody claims too.
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

/// A discovered peripheral and whose it is.
public struct VendorDiscovery: Sendable {
    /// What was discovered.
    public let discovery: Discovery
    /// Whose it is; nil when nobody claims it.
    public let vendor: (any Vendor)?

    /// What it is to the program: the owner's device; the peripheral itself when nobody claims it.
    public func device() async throws(BLEError) -> any Sendable {
        guard let vendor else { return discovery.peripheral }
        return try await vendor.device(discovery.peripheral)
    }
}

/// Discovered peripherals and whose they are; see ``Vendors/discoveries(_:onlyClaimed:)``.
public struct VendorDiscoveries: AsyncSequence, Sendable {
    /// What arrives.
    public typealias Element = VendorDiscovery
    /// Why iterating can fail.
    public typealias Failure = BLEError

    let vendors: Vendors
    let events: DiscoveryEvents

    /// An iterator; its first `next()` starts the scan.
    public func makeAsyncIterator() -> Iterator { Iterator(vendors: vendors, base: events.makeAsyncIterator()) }

    /// Reads discoveries.
    public struct Iterator: AsyncIteratorProtocol {
        let vendors: Vendors
        var base: DiscoveryEvents.Iterator
        /// Whom nobody has claimed yet.
        private var unclaimed: Set<Peripheral.ID> = []

        init(vendors: Vendors, base: DiscoveryEvents.Iterator) {
            self.vendors = vendors
            self.base = base
        }

        /// The next discovery.
        public mutating func next() async throws(BLEError) -> VendorDiscovery? {
            try await next(isolation: #isolation)
        }

        /// The next discovery, without leaving the caller's actor.
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
                }
            }
            return nil
        }
    }
}
