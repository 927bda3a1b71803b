/// A central's request to read or write an attribute of this peripheral.
public struct AttributeRequest: Sendable {
    /// The central, by its address. A central with a private address that is not bonded has another one on each link.
    public var central: DeviceID
    /// The transport of the link, ``Transport/le`` or ``Transport/classic``. Nil if the system does not report it.
    public var transport: Transport?
    /// The ATT MTU of the link, in bytes. Nil if the system does not report it.
    public var attMTU: Int?
    /// The position of the first byte that is read or written, 0 to 512.
    public var offset: Int
    /// How the value is written. Nil if the system does not report it, as with BlueZ for a characteristic that allows
    /// several types, and for reads.
    public var writeType: WriteType?
    /// Whether the system only asks for permission: the write is prepared, and its value follows in another request.
    public var isPrepared: Bool
    /// The link that the request has come over, which is the same for all requests of one link. Nil if the backend does
    /// not say.
    public var link: CentralLink?

    /// The clock of the radio or the host that runs the definition, on which a handler waits. Two requests can be equal
    /// with different clocks.
    public var clock: any Clock<Duration>

    /// Creates a request.
    public init(
        central: DeviceID, transport: Transport? = nil, attMTU: Int? = nil, offset: Int = 0,
        writeType: WriteType? = nil, isPrepared: Bool = false, link: CentralLink? = nil,
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.central = central
        self.transport = transport
        self.attMTU = attMTU
        self.offset = offset
        self.writeType = writeType
        self.isPrepared = isPrepared
        self.link = link
        self.clock = clock
    }
}

extension AttributeRequest {
    /// Returns the request for handlers that wait on a clock.
    func on(_ clock: any Clock<Duration>) -> AttributeRequest {
        var request = self
        request.clock = clock
        return request
    }
}

extension AttributeRequest: Hashable {
    /// What makes requests equal.
    private struct Content: Hashable {
        let central: DeviceID
        let transport: Transport?
        let attMTU: Int?
        let offset: Int
        let writeType: WriteType?
        let isPrepared: Bool
        let link: CentralLink?
    }

    private var content: Content {
        Content(
            central: central, transport: transport, attMTU: attMTU, offset: offset, writeType: writeType,
            isPrepared: isPrepared, link: link)
    }

    /// Whether two requests are equal, apart from their clocks.
    public static func == (one: AttributeRequest, other: AttributeRequest) -> Bool { one.content == other.content }

    /// Hashes what makes requests equal.
    public func hash(into hasher: inout Hasher) { hasher.combine(content) }
}

/// What a request does with a value.
public enum AttributeAccess: Hashable, Sendable, CaseIterable {
    /// Reads it.
    case read
    /// Writes it.
    case write
}
