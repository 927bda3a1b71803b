/// The conditions that a peripheral must meet to be reported by a scan. All of them must hold.
///
/// ```swift
/// central.discoveries(matching: .service(.heartRate) && .rssi(atLeast: -70) && .name(containing: "Strap"))
/// ```
///
/// The central checks every advertisement against the criteria of every scan. The backend receives the combined filter
/// of all scans; see ``DiscoveryFilter``.
public struct DiscoveryCriteria: Sendable {
    /// A condition on an advertisement.
    enum Condition: Sendable {
        case id(Set<Peripheral.ID>)
        case otherID(Set<Peripheral.ID>)
        case identity(Set<String>)
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

    /// The possible signal strengths, in dBm (Core Specification 5.4, volume 4, part E, section 7.7.65.2).
    private static let strengths = -127...20

    private(set) var conditions: [Condition]

    private init(_ condition: Condition) { conditions = [condition] }

    /// Creates criteria from services and a signal strength.
    ///
    /// - Parameters:
    ///   - services: the peripheral must advertise at least one of these. Empty for any.
    ///   - minimumRSSI: the weakest signal strength, in dBm. Nil for any.
    public init(services: Set<BluetoothUUID> = [], minimumRSSI: Int? = nil) {
        conditions = []
        if !services.isEmpty { conditions.append(.anyService(services)) }
        if let minimumRSSI { conditions.append(.rssi(Self.from(minimumRSSI))) }
    }

    private static func from(_ minimum: Int) -> ClosedRange<Int> { minimum...max(minimum, strengths.upperBound) }

    /// Combines two criteria. Both must hold.
    public static func && (left: DiscoveryCriteria, right: DiscoveryCriteria) -> DiscoveryCriteria {
        var both = left
        both.conditions += right.conditions
        return both
    }

    /// Returns whether an advertisement meets the criteria.
    ///
    /// - Parameters:
    ///   - id: the peripheral that sent it. If it is nil, no condition on the id holds.
    ///   - identity: the name of the device that has this private address, ``Discovery/identity``. If it is nil, no
    ///     condition on the identity holds.
    public func matches(
        _ advertisement: Advertisement, from id: Peripheral.ID? = nil, identity: String? = nil
    ) -> Bool {
        conditions.allSatisfy { $0.holds(advertisement, id, identity) }
    }
}

// MARK: Conditions

extension DiscoveryCriteria {
    /// All peripherals that are received over LE.
    public static let any = DiscoveryCriteria()

    /// The peripheral with this id.
    public static func id(_ id: Peripheral.ID) -> DiscoveryCriteria { DiscoveryCriteria(.id([id])) }

    /// The peripherals with these ids.
    public static func ids(_ ids: Set<Peripheral.ID>) -> DiscoveryCriteria { DiscoveryCriteria(.id(ids)) }

    /// All peripherals except those with these ids, for example except the known ones.
    public static func excluding(_ ids: Set<Peripheral.ID>) -> DiscoveryCriteria { DiscoveryCriteria(.otherID(ids)) }

    /// The device with this name among the central's identities, under any of its private addresses; see
    /// ``Central/setIdentities(_:)``. A scan with a name that the central has no key for throws `invalidArgument`.
    public static func identity(_ name: String) -> DiscoveryCriteria { identities([name]) }

    /// The devices with these names among the central's identities; see ``identity(_:)``.
    public static func identities(_ names: Set<String>) -> DiscoveryCriteria { DiscoveryCriteria(.identity(names)) }

    /// Peripherals that advertise a service.
    public static func service(_ service: BluetoothUUID) -> DiscoveryCriteria {
        DiscoveryCriteria(.anyService([service]))
    }

    /// Peripherals that advertise data of a service.
    ///
    /// - Parameter data: the beginning of the data. By default, any data.
    public static func serviceData(_ service: BluetoothUUID, _ data: BytePattern = []) -> DiscoveryCriteria {
        DiscoveryCriteria(.serviceData(service, data))
    }

    /// Peripherals that advertise a manufacturer's data.
    ///
    /// - Parameters:
    ///   - company: the company identifier (Assigned Numbers, section 7.1), as a number: bytes `4C 00` over the air are
    ///     0x004C.
    ///   - data: the beginning of the data after the identifier. By default, any data.
    public static func manufacturer(_ company: UInt16, _ data: BytePattern = []) -> DiscoveryCriteria {
        DiscoveryCriteria(.manufacturer(company, data))
    }

    /// Peripherals with exactly this name. The advertised name is compared or, if there is none, the name that the
    /// device reported on a connection.
    public static func name(_ name: String) -> DiscoveryCriteria { DiscoveryCriteria(.name(name)) }

    /// Peripherals whose name contains this text, byte for byte in UTF-8.
    public static func name(containing part: String) -> DiscoveryCriteria { DiscoveryCriteria(.namePart(part)) }

    /// Peripherals with a signal strength in this range, in dBm. A peripheral without a known strength does not match.
    public static func rssi(_ window: ClosedRange<Int>) -> DiscoveryCriteria { DiscoveryCriteria(.rssi(window)) }

    /// Peripherals with at least this signal strength, in dBm.
    public static func rssi(atLeast minimum: Int) -> DiscoveryCriteria {
        DiscoveryCriteria(.rssi(from(minimum)))
    }

    /// Peripherals that accept connections; see ``Advertisement/isConnectable``. With a stack that does not report
    /// this, such as BlueZ, a scan with this condition throws `notSupported`.
    public static let connectable = DiscoveryCriteria(.connectable)

    /// Devices on the given transport. Without this condition, a scan receives LE.
    ///
    /// A device with a device class is a Classic device. If an LE scan and a Classic scan run at the same time, or one
    /// right after the other, the LE scan may report Classic devices, because BlueZ does not report the transport on
    /// which a device was received.
    public static func transport(_ transport: Transport) -> DiscoveryCriteria {
        DiscoveryCriteria(.transport(transport))
    }

    /// Peripherals found by a passive scan, which does not request scan responses.
    ///
    /// Data that a peripheral sends only in its scan response, often the name, stays unknown. A peripheral that does
    /// not advertise its flags, such as some beacons, is not found unless a ``manufacturer(_:_:)`` is given. Passive
    /// scanning saves the peripherals' energy and, with some controllers, this machine's.
    ///
    /// The scan is passive only while all running scans are passive. With BlueZ, this requires an experimental
    /// bluetoothd. If passive scanning is not available, the scan throws `notSupported`.
    public static let passive = DiscoveryCriteria(.passive)

    /// Peripherals for which `predicate` returns true. It is called for every advertisement, on the central's executor.
    public static func custom(_ predicate: @escaping @Sendable (Advertisement) -> Bool) -> DiscoveryCriteria {
        DiscoveryCriteria(.custom(predicate))
    }
}

extension DiscoveryCriteria.Condition {
    func holds(_ advertisement: Advertisement, _ id: Peripheral.ID?, _ identity: String?) -> Bool {
        switch self {
        case .id(let ids): id.map(ids.contains) ?? false
        case .otherID(let ids): id.map { !ids.contains($0) } ?? false
        case .identity(let names): identity.map(names.contains) ?? false
        case .anyService(let services): !advertisement.services.isDisjoint(with: services)
        case .serviceData(let service, let pattern):
            advertisement.data(ofService: service).map(pattern.matches) ?? false
        case .manufacturer(let company, let pattern):
            advertisement.data(ofCompany: company).map(pattern.matches) ?? false
        case .name(let name): advertisement.localName == name
        case .namePart(let part): advertisement.localName?.contains(text: part) ?? false
        case .rssi(let window): advertisement.rssi.map(window.contains) ?? false
        case .connectable: advertisement.isConnectable ?? true
        case .transport(.classic): advertisement.deviceClass != nil
        case .transport, .passive: true
        case .custom(let predicate): predicate(advertisement)
        }
    }
}

// MARK: The backend's filter

extension DiscoveryFilter {
    /// Creates the narrowest filter that passes everything that any of the criteria require.
    init(uniting criteria: some Collection<DiscoveryCriteria>) {
        let services = criteria.map(\.neededServices)
        let strengths = criteria.map(\.neededStrength)
        let transports = Set(criteria.map(\.neededTransport))
        self.init(
            services: services.contains([]) ? [] : services.reduce(into: []) { $0.formUnion($1) },
            minimumRSSI: strengths.contains(nil) ? nil : strengths.compactMap(\.self).min(),
            transport: transports.count == 1 ? transports.first! : transports.isEmpty ? .le : .any)
        // Companies and passive scanning apply only if every scan is passive.
        guard transport == .le, !criteria.isEmpty, criteria.allSatisfy(\.isPassive) else { return }
        isPassive = true
        let companies = criteria.map(\.neededCompany)
        if !companies.contains(nil) { manufacturers = Set(companies.compactMap(\.self)) }
    }
}

extension DiscoveryCriteria {
    /// The services of which a matching peripheral advertises at least one. Empty if it need not advertise any. If
    /// several conditions have services, the condition with the fewest services is used, because it is the most
    /// selective.
    fileprivate var neededServices: Set<BluetoothUUID> {
        let named = conditions.compactMap { condition -> Set<BluetoothUUID>? in
            if case .anyService(let services) = condition { services } else { nil }
        }
        return named.min { $0.count < $1.count } ?? []
    }

    /// The weakest signal strength that can match, in dBm. Nil if any strength matches.
    fileprivate var neededStrength: Int? {
        conditions.compactMap { if case .rssi(let window) = $0 { window.lowerBound } else { nil } }.max()
    }

    /// Whether a scan with these criteria receives a device on its transport.
    func receives(_ advertisement: Advertisement) -> Bool {
        switch neededTransport {
        case .le: advertisement.deviceClass == nil
        case .classic: advertisement.deviceClass != nil
        case .any: true
        }
    }

    /// The names of which a matching peripheral has one.
    var neededIdentities: [String] {
        conditions.flatMap { condition -> [String] in
            if case .identity(let names) = condition { names.sorted() } else { [] }
        }
    }

    /// Whether a matching peripheral must accept connections.
    var needsConnectability: Bool {
        conditions.contains { if case .connectable = $0 { true } else { false } }
    }

    fileprivate var isPassive: Bool {
        conditions.contains { if case .passive = $0 { true } else { false } }
    }

    /// The company whose data a matching peripheral advertises. Nil if it need not advertise manufacturer data.
    fileprivate var neededCompany: UInt16? {
        conditions.lazy.compactMap { if case .manufacturer(let company, _) = $0 { company } else { nil } }.first
    }

    fileprivate var neededTransport: Transport {
        let named = conditions.compactMap { if case .transport(let transport) = $0 { transport } else { nil } }
        return named.first { $0 != .any } ?? named.first ?? .le
    }
}
