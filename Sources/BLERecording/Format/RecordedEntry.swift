public import BLE

/// One thing that happened between a central or a host and its Bluetooth stack: a line of a ``Recording``.
///
/// ``what`` says which of the other properties are set. The rest are nil, and missing from the file.
public struct RecordedEntry: Sendable {
    /// What happened.
    public enum What: String, Hashable, Codable, Sendable, CaseIterable {
        // Calls of a central and of a host.
        /// The stack is started.
        case start
        /// The stack is shut down.
        case shutDown

        // Calls of a central. Each has a number (`call`), under which its reply follows.
        /// Starts to scan, with `filter`.
        case scan
        /// Stops to scan.
        case stopScan
        /// Makes a link.
        case connect
        /// Ends a link.
        case disconnect
        /// Discovers the services. The reply has `services`.
        case discover
        /// Asks for the ATT MTU. The reply has `number`, in bytes.
        case attMTU
        /// Asks for the signal strength of a link. The reply has `number`, in dBm.
        case signalStrength
        /// Asks for the system's properties of a peripheral. The reply has `properties`.
        case systemProperties
        /// Reads a characteristic from `offset`. The reply has `value`.
        case read
        /// Writes `value` with a response.
        case write
        /// Writes `value` reliably.
        case reliableWrite
        /// Writes `value` without a response.
        case command
        /// Reads a descriptor. The reply has `value`.
        case readDescriptor
        /// Writes a descriptor.
        case writeDescriptor
        /// Starts notifications.
        case subscribe
        /// Starts notifications over a socket.
        case subscribeSocket
        /// Stops notifications.
        case unsubscribe
        /// Opens a socket for writes. The reply has `number`, the maximum length of a packet in bytes.
        case acquireWriting
        /// Opens the L2CAP channel `number`, with the options `channel`. The reply has `number`, the maximum length of
        /// a sent packet in bytes.
        case openChannel
        /// Pairs. Prompts and passkeys are not recorded.
        case pair
        /// Removes a bond.
        case unpair
        /// Asks for the pairing state. The reply has `pairing`.
        case pairingState
        /// Lets a peripheral use services without authorization, if `isOn`.
        case trust
        /// Rejects links to a peripheral, if `isOn`.
        case block
        /// Switches the adapter `text`, or the one in use.
        case setPowered
        /// Names an adapter.
        case setAlias
        /// Lists the adapters. The reply has `adapters`.
        case adapters

        // Calls of a host.
        /// Registers `services` as the application `number`.
        case register
        /// Ends the registration `number`.
        case unregister
        /// Notifies `value` of an attribute.
        case notify
        /// Indicates `value` of an attribute.
        case indicate
        /// Advertises, as the advertisement `number`.
        case advertise
        /// Stops the advertisement `number`.
        case stopAdvertising
        /// Accepts L2CAP channels, with the options `channel`. The reply has `number`, the PSM.
        case publishChannel
        /// Ends the link of a central.
        case endLink
        /// A central opened the L2CAP channel `number`. The reply has `number`, the maximum length of a sent packet in
        /// bytes.
        case acceptChannel

        // Calls of a central to a host, which the host answers.
        /// A central reads an attribute from `offset`. The reply has `value`.
        case requestRead
        /// A central writes `value`.
        case requestWrite

        // How calls end.
        /// The result of a call: `error`, or what the call asked for.
        case reply
        /// The caller gave up. The reply follows.
        case cancel

        // Events.
        /// A peripheral that the system knew at the beginning.
        case known
        /// The state of the adapter, in `text`: poweredOn, poweredOff, unavailable, resetting.
        case adapterState
        /// An advertisement was received.
        case advertisement
        /// The scan ended, with `error`.
        case scanEnded
        /// The system forgot a peripheral.
        case removed
        /// A link ended, with `error`.
        case linkEnded
        /// The services of a peripheral changed.
        case servicesChanged
        /// A characteristic notified or indicated `value`.
        case value
        /// Notifications ended although the link is up.
        case notificationsEnded
        /// The prompts of a pairing have ended.
        case pairingEnded
        /// Bluetooth stopped.
        case stackLost
        /// A packet went into the socket or the channel that `call` opened.
        case packetSent
        /// A packet came out of the channel that `call` opened.
        case packetReceived
        /// An L2CAP channel ended: without `error` if the other side closed it, and with the reason `local` if this
        /// side did.
        case channelEnded
        /// The state of a host's adapter, in `text`.
        case hostState
        /// Bluetooth stopped below a host.
        case hostLost
        /// A central made a link to this machine.
        case centralConnected
        /// A central's link ended.
        case centralDisconnected
        /// A central subscribed to an attribute.
        case subscribed
        /// A subscription ended.
        case unsubscribed
        /// The application `number` is no longer served.
        case applicationEnded
        /// The advertisement `number` has ended.
        case advertisingEnded
        /// The recorder could not keep up: `number` entries are missing here.
        case gap
    }

    /// The time since the beginning of the recording. Rounded to microseconds in a file.
    public var time: Duration
    /// What happened.
    public var what: What
    /// The number of the call: of a call, its reply, its cancellation, and the packets of what it opened.
    public var call: Int?
    /// Which of the backends that share the recorder: 2 for the second that has started. Nil for the first, and for
    /// what ``call`` tells: a reply and a cancellation.
    public var backend: Int?
    /// The peripheral; of a host, the central.
    public var peripheral: DeviceID?
    /// The handle of the characteristic, or of the descriptor.
    public var handle: UInt16?
    /// The bytes that were read, written, notified or sent.
    public var value: [UInt8]?
    /// The position of the first byte that is read or written, 1 to 65,535. Nil for 0.
    public var offset: Int?
    /// A number: an MTU, a strength, a PSM, or what a host's registration is known by.
    public var number: Int?
    /// A text: an adapter and its state or name; of a host, the place of the attribute, such as `1.0.2`.
    public var text: String?
    /// What a setting is set to.
    public var isOn: Bool?
    /// What a scan looks for.
    public var filter: DiscoveryFilter?
    /// What was received.
    public var advertisement: Advertisement?
    /// What was discovered; of a host, what is served.
    public var services: GATTDatabase?
    /// The pairing state.
    public var pairing: PairingState?
    /// The adapters.
    public var adapters: [Adapter]?
    /// The system's properties of a peripheral, as text.
    public var properties: [String: String]?
    /// What an L2CAP channel was opened or published with.
    public var channel: ChannelOptions?
    /// Why it failed or ended.
    public var error: BLEError?

    /// Creates an entry. Set what else it has.
    public init(
        _ what: What, at time: Duration = .zero, call: Int? = nil, peripheral: DeviceID? = nil, handle: UInt16? = nil,
        value: [UInt8]? = nil, offset: Int? = nil, number: Int? = nil, text: String? = nil, error: BLEError? = nil
    ) {
        self.time = time
        self.what = what
        self.call = call
        self.peripheral = peripheral
        self.handle = handle
        self.value = value
        self.offset = offset.map { min(max($0, 0), Self.maximumOffset) }
        if self.offset == 0 { self.offset = nil }
        self.number = number
        self.text = text
        self.error = error
    }

    /// What a request has room for. A value has at most 512 bytes, but a program may ask for more.
    private static let maximumOffset = 0xFFFF

    init(_ what: What, _ attribute: AttributeID, value: [UInt8]? = nil, offset: Int? = nil) {
        self.init(what, peripheral: attribute.peripheral, handle: attribute.handle, value: value, offset: offset)
    }

    /// The attribute that it is about.
    var attribute: AttributeID? {
        guard let peripheral, let handle else { return nil }
        return AttributeID(peripheral: peripheral, handle: handle)
    }
}

extension RecordedEntry: Codable {
    private enum CodingKeys: String, CodingKey {
        case time = "at"
        case what, call, backend, peripheral, handle, value, offset, number, text, isOn, filter, advertisement,
            services, pairing
        case adapters, properties, channel, error
    }

    /// The options of a channel.
    private struct Options: Codable {
        let security: String
        let maximumReceiveLength: Int

        init(_ options: ChannelOptions) {
            maximumReceiveLength = options.maximumReceiveLength
            security = Self.levels.first { $0.level == options.security }?.name ?? ""
        }

        private static let levels: [(name: String, level: AttributeSecurity)] = [
            ("open", .open), ("encrypted", .encrypted), ("authenticated", .authenticated),
        ]

        /// Nil for options that no channel has.
        var options: ChannelOptions? {
            guard let level = Self.levels.first(where: { $0.name == security })?.level,
                23...65535 ~= maximumReceiveLength
            else {
                return nil
            }
            return ChannelOptions(security: level, maximumReceiveLength: maximumReceiveLength)
        }
    }

    /// Reads a line.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func optional<Value: Decodable>(_ key: CodingKeys) throws -> Value? {
            try container.decodeIfPresent(Value.self, forKey: key)
        }
        let seconds = try container.decode(Double.self, forKey: .time)
        guard (0...1e9).contains(seconds) else {
            throw DecodingError.dataCorruptedError(
                forKey: .time, in: container, debugDescription: "\(seconds) s is out of range")
        }
        self.init(try container.decode(What.self, forKey: .what), at: .microseconds(Int64((seconds * 1e6).rounded())))
        call = try optional(.call)
        backend = try optional(.backend)
        peripheral = try optional(.peripheral)
        handle = try optional(.handle)
        value = container.contains(.value) ? try container.decodeHex(forKey: .value) : nil
        offset = try optional(.offset)
        guard (0...Self.maximumOffset).contains(offset ?? 0) else {
            throw DecodingError.dataCorruptedError(
                forKey: .offset, in: container, debugDescription: "\(offset ?? 0) is not between 0 and 65535")
        }
        if offset == 0 { offset = nil }
        number = try optional(.number)
        text = try optional(.text)
        isOn = try optional(.isOn)
        filter = try optional(.filter)
        advertisement = try optional(.advertisement)
        services = try optional(.services)
        if let services, !services.hasAscendingHandles {
            throw DecodingError.dataCorruptedError(
                forKey: .services, in: container, debugDescription: "the handles of the services do not ascend")
        }
        pairing = try optional(.pairing)
        adapters = try optional(.adapters)
        properties = try optional(.properties)
        if let found: Options = try optional(.channel) {
            guard let options = found.options else {
                throw DecodingError.dataCorruptedError(
                    forKey: .channel, in: container, debugDescription: "the options of a channel are out of range")
            }
            channel = options
        }
        error = try optional(.error)
    }

    /// Writes the line.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(Double(time.microseconds) / 1e6, forKey: .time)
        try container.encode(what, forKey: .what)
        try container.encodeIfPresent(call, forKey: .call)
        try container.encodeIfPresent(backend, forKey: .backend)
        try container.encodeIfPresent(peripheral, forKey: .peripheral)
        try container.encodeIfPresent(handle, forKey: .handle)
        if let value { try container.encodeHex(value, forKey: .value) }
        try container.encodeIfPresent(offset, forKey: .offset)
        try container.encodeIfPresent(number, forKey: .number)
        try container.encodeIfPresent(text, forKey: .text)
        try container.encodeIfPresent(isOn, forKey: .isOn)
        try container.encodeIfPresent(filter, forKey: .filter)
        try container.encodeIfPresent(advertisement, forKey: .advertisement)
        try container.encodeIfPresent(services, forKey: .services)
        try container.encodeIfPresent(pairing, forKey: .pairing)
        try container.encodeIfPresent(adapters, forKey: .adapters)
        try container.encodeIfPresent(properties, forKey: .properties)
        try container.encodeIfPresent(channel.map(Options.init), forKey: .channel)
        try container.encodeIfPresent(error, forKey: .error)
    }
}

extension Duration {
    /// The whole microseconds, at most those of 30,000 years.
    var microseconds: Int64 {
        let (seconds, attoseconds) = components
        return min(max(seconds, 0), 1_000_000_000_000) * 1_000_000 + attoseconds / 1_000_000_000_000
    }
}

extension RecordedEntry.What {
    /// Whether the backend is that of an earlier call.
    var hasCaller: Bool { self == .reply || self == .cancel }

    /// Whether it happens between a host and its stack, not a central and its.
    var isOfHost: Bool {
        switch self {
        case .hostState, .hostLost, .acceptChannel, .register, .unregister, .notify, .indicate, .advertise,
            .stopAdvertising, .publishChannel, .endLink,
            .requestRead, .requestWrite, .centralConnected, .centralDisconnected, .subscribed, .unsubscribed,
            .applicationEnded, .advertisingEnded:
            true
        default: false
        }
    }
}

extension GATTDatabase {
    /// Whether each attribute has a greater handle than the one before.
    fileprivate var hasAscendingHandles: Bool {
        var last: UInt16 = 0
        func isNext(_ handle: UInt16) -> Bool {
            defer { last = handle }
            return handle > last
        }
        return allSatisfy { service in
            isNext(service.handle)
                && service.allSatisfy { isNext($0.handle) && $0.descriptors.allSatisfy { isNext($0.handle) } }
        }
    }
}
