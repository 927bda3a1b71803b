/// Which peripherals a scanner wants to hear of. All that is given must hold.
///
/// ```swift
/// central.discoveries(matching: .service(.heartRate) && .rssi(atLeast: -70) && .name(containing: "Strap"))
/// ```
///
/// The central checks every advertisement against the criteria of every scan; the backend is told what all scans together
/// need, see ``DiscoveryFilter``.
public struct DiscoveryCriteria: Sendable {
    /// Something that must hold of an advertisement.
    enum Condition: Sendable {
        case anyService(Set<BluetoothUUID>)
        case serviceData(BluetoothUUID, BytePattern)
        case manufacturer(UInt16, BytePattern)
        case name(String)
        case namePart(String)
        case rssi(ClosedRange<Int>)
        case connectable
        case transport(Transport)
        case passive
        case custom(@Sendable (Advertisement) -> Bool)
    }

    /// The signal strengths that there are, in dBm (Core Specification 5.4, volume 4, part E, section 7.7.65.2).
    private static let strengths = -127...20

    private(set) var conditions: [Condition]

    private init(_ condition: Condition) { conditions = [condition] }

    /// Criteria.
    ///
    /// - Parameters:
    ///   - services: at least one of these is advertised; empty for any.
    ///   - minimumRSSI: heard at least this strong, in dBm.
    public init(services: Set<BluetoothUUID> = [], minimumRSSI: Int? = nil) {
        conditions = []
        if !services.isEmpty { conditions.append(.anyService(services)) }
        if let minimumRSSI { conditions.append(.rssi(Self.from(minimumRSSI))) }
    }

    private static func from(_ minimum: Int) -> ClosedRange<Int> { minimum...max(minimum, strengths.upperBound) }

    /// Both must hold.
    public static func && (left: DiscoveryCriteria, right: DiscoveryCriteria) -> DiscoveryCriteria {
        var both = left
        both.conditions += right.conditions
        return both
    }

    /// Whether an advertisement meets the criteria.
    public func match(_ advertisement: Advertisement) -> Bool {
        conditions.allSatisfy { $0.holds(advertisement) }
    }
}

// MARK: What there is to combine

extension DiscoveryCriteria {
    /// Every peripheral that is heard over LE.
    public static let any = DiscoveryCriteria()

    /// Peripherals that advertise a service.
    public static func service(_ service: BluetoothUUID) -> DiscoveryCriteria {
        DiscoveryCriteria(.anyService([service]))
    }

    /// Peripherals that advertise data of a service.
    ///
    /// - Parameter data: what the data begins with; by default anything.
    public static func serviceData(_ service: BluetoothUUID, _ data: BytePattern = []) -> DiscoveryCriteria {
        DiscoveryCriteria(.serviceData(service, data))
    }

    /// Peripherals that advertise a manufacturer's data.
    ///
    /// - Parameters:
    ///   - company: the company identifier (Assigned Numbers, section 7.1), as a number: bytes `4C 00` in the air are 0x004C.
    ///   - data: what the data after the identifier begins with; by default anything.
    public static func manufacturer(_ company: UInt16, _ data: BytePattern = []) -> DiscoveryCriteria {
        DiscoveryCriteria(.manufacturer(company, data))
    }

    /// Peripherals of exactly that name. The advertised name counts; the name that a device reports on a connection only
    /// where none is advertised.
    public static func name(_ name: String) -> DiscoveryCriteria { DiscoveryCriteria(.name(name)) }

    /// Peripherals with that text, in upper and lower case as given, in their name.
    public static func name(containing part: String) -> DiscoveryCriteria { DiscoveryCriteria(.namePart(part)) }

    /// Peripherals heard at a strength in that window, in dBm. One whose strength is not known is not.
    public static func rssi(_ window: ClosedRange<Int>) -> DiscoveryCriteria { DiscoveryCriteria(.rssi(window)) }

    /// Peripherals heard at least that strong, in dBm.
    public static func rssi(atLeast minimum: Int) -> DiscoveryCriteria {
        DiscoveryCriteria(.rssi(from(minimum)))
    }

    /// Peripherals that can be connected to, as far as the system tells; see ``Advertisement/isConnectable``.
    public static let connectable = DiscoveryCriteria(.connectable)

    /// Devices on a transport other than LE, which is what scans listen to unless told otherwise.
    ///
    /// A Classic device is one with a device class. Where an LE scan and a Classic one run at the same time, the LE scan may
    /// report Classic devices: BlueZ does not tell on which transport a device was heard.
    public static func transport(_ transport: Transport) -> DiscoveryCriteria {
        DiscoveryCriteria(.transport(transport))
    }

    /// Whatever is heard by listening only, without asking peripherals for their scan responses: what they say in those, often
    /// the name, stays unknown, and what does not advertise its flags, as some beacons do not, is not heard unless a
    /// ``manufacturer(_:_:)`` is given. It spares the peripherals' energy, and with some controllers this machine's.
    ///
    /// The scan is passive as long as no scan that is not runs at the same time. With BlueZ it takes an experimental
    /// bluetoothd; where passive scanning cannot be had the scan throws `notSupported`.
    public static let passive = DiscoveryCriteria(.passive)

    /// Peripherals for which `predicate` is true. It is called for every advertisement, on the central's executor.
    public static func custom(_ predicate: @escaping @Sendable (Advertisement) -> Bool) -> DiscoveryCriteria {
        DiscoveryCriteria(.custom(predicate))
    }
}

extension DiscoveryCriteria.Condition {
    func holds(_ advertisement: Advertisement) -> Bool {
        switch self {
        case .anyService(let services): !services.isDisjoint(with: advertisement.serviceUUIDs)
        case .serviceData(let service, let pattern): advertisement.serviceData[service].map(pattern.matches) ?? false
        case .manufacturer(let company, let pattern):
            advertisement.manufacturerData[company].map(pattern.matches) ?? false
        case .name(let name): advertisement.localName == name
        case .namePart(let part): advertisement.localName?.contains(part) ?? false
        case .rssi(let window): advertisement.rssi.map(window.contains) ?? false
        case .connectable: advertisement.isConnectable ?? true
        case .transport(.classic): advertisement.deviceClass != nil
        case .transport, .passive: true
        case .custom(let predicate): predicate(advertisement)
        }
    }
}

// MARK: What a backend is told of them

extension DiscoveryFilter {
    /// The narrowest filter that lets everything through that any of the criteria want.
    init(uniting criteria: some Collection<DiscoveryCriteria>) {
        let services = criteria.map(\.neededServices)
        let strengths = criteria.map(\.neededStrength)
        let transports = Set(criteria.map(\.neededTransport))
        self.init(
            services: services.contains([]) ? [] : services.reduce(into: []) { $0.formUnion($1) },
            minimumRSSI: strengths.contains(nil) ? nil : strengths.compactMap(\.self).min(),
            transport: transports.count == 1 ? transports.first! : transports.isEmpty ? .le : .any)
        // Companies and passiveness mean nothing to a scan of which a part is active.
        guard transport == .le, !criteria.isEmpty, criteria.allSatisfy(\.isPassive) else { return }
        isPassive = true
        let companies = criteria.map(\.neededCompany)
        if !companies.contains(nil) { manufacturers = Set(companies.compactMap(\.self)) }
    }
}

extension DiscoveryCriteria {
    /// Services of which what matches advertises at least one; empty when it need not advertise any. (Of several conditions
    /// that name services the one with the fewest tells most.)
    fileprivate var neededServices: Set<BluetoothUUID> {
        let named = conditions.compactMap { condition -> Set<BluetoothUUID>? in
            if case .anyService(let services) = condition { services } else { nil }
        }
        return named.min { $0.count < $1.count } ?? []
    }

    /// The weakest strength at which something can match, in dBm; nil when strength does not matter.
    fileprivate var neededStrength: Int? {
        conditions.compactMap { if case .rssi(let window) = $0 { window.lowerBound } else { nil } }.max()
    }

    fileprivate var isPassive: Bool {
        conditions.contains { if case .passive = $0 { true } else { false } }
    }

    /// The company whose data what matches advertises; nil when it need not.
    fileprivate var neededCompany: UInt16? {
        conditions.lazy.compactMap { if case .manufacturer(let company, _) = $0 { company } else { nil } }.first
    }

    fileprivate var neededTransport: Transport {
        let named = conditions.compactMap { if case .transport(let transport) = $0 { transport } else { nil } }
        return named.first { $0 != .any } ?? named.first ?? .le
    }
}
