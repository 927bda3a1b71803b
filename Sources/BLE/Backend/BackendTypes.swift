/// A snapshot of a peripheral that a backend knows.
public struct KnownPeripheral: Hashable, Sendable {
    /// Its identity.
    public let id: Peripheral.ID
    /// Its advertising data, current or remembered.
    public let advertisement: Advertisement
    /// Whether this machine has a link to it, including links made by other programs.
    public let isConnected: Bool
    /// The services that it is known to have: those it advertised and those discovered on a link.
    public var services: Set<BluetoothUUID> { list.set }
    private let list: UUIDList

    /// Creates a known peripheral. Its services default to those it advertises.
    public init(
        id: Peripheral.ID, advertisement: Advertisement, isConnected: Bool, services: Set<BluetoothUUID>? = nil
    ) {
        self.id = id
        self.advertisement = advertisement
        self.isConnected = isConnected
        list = services.map { UUIDList($0) } ?? advertisement.services
    }
}

/// Shown with its properties.
extension KnownPeripheral: CustomReflectable {
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "id": id, "advertisement": advertisement, "isConnected": isConnected, "services": services,
            ])
    }
}

/// Stored and sent as an object with the names of the properties.
extension KnownPeripheral: Codable {
    private enum CodingKeys: CodingKey {
        case id, advertisement, isConnected, services
    }

    /// Reads a known peripheral.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            id: try container.decode(Peripheral.ID.self, forKey: .id),
            advertisement: try container.decode(Advertisement.self, forKey: .advertisement),
            isConnected: try container.decode(Bool.self, forKey: .isConnected),
            services: try container.decode(Set<BluetoothUUID>.self, forKey: .services))
    }

    /// Writes the known peripheral.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        try container.encode(advertisement, forKey: .advertisement)
        try container.encode(isConnected, forKey: .isConnected)
        try container.encode(services, forKey: .services)
    }
}

/// The filter of a backend's discovery. A backend may report more; the central filters again.
public struct DiscoveryFilter: Hashable, Codable, Sendable {
    /// Only peripherals that advertise at least one of these services. Empty for all peripherals.
    public var services: Set<BluetoothUUID>
    /// Only peripherals with at least this signal strength, in dBm. Nil for any strength.
    public var minimumRSSI: Int?
    /// The transport to scan.
    public var transport: Transport
    /// Only peripherals that advertise data of at least one of these companies. Empty for all peripherals.
    public var manufacturers: Set<UInt16>
    /// Scan passively, without requesting scan responses.
    public var isPassive: Bool
    /// How much later than they are received advertisements may be reported, so that many are handled together. A
    /// backend may ignore it.
    public var tolerance: Duration

    /// Creates a filter. By default, it passes all LE peripherals.
    public init(
        services: Set<BluetoothUUID> = [], minimumRSSI: Int? = nil, transport: Transport = .le,
        manufacturers: Set<UInt16> = [], isPassive: Bool = false, tolerance: Duration = .zero
    ) {
        self.services = services
        self.minimumRSSI = minimumRSSI
        self.transport = transport
        self.manufacturers = manufacturers
        self.isPassive = isPassive
        self.tolerance = tolerance
    }
}
