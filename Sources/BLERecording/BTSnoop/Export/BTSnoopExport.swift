internal import BLE

/// Makes the packets of a recording, entry by entry.
struct BTSnoopExport {
    private struct Link {
        let handle: UInt16
        var mtu = ATTOpcode.defaultMTU
        /// The position of the entry at which the last request ended. The next one begins there or later.
        var last = 0
        var isEnding = false
    }

    /// What is known of a characteristic.
    private struct Characteristic {
        var properties: CharacteristicProperties
        var configuration: UInt16?
    }

    private let entries: [RecordedEntry]
    private let plans: [DeviceID: ExportPlan]
    private var log = PacketLog()
    private var links: [DeviceID: Link] = [:]
    private var linkCount = 0
    private var addressTypes: [DeviceID: AddressType] = [:]
    private var trees: [DeviceID: [UInt16: Characteristic]] = [:]
    private var changeHandles: [DeviceID: UInt16] = [:]
    /// The positions of the calls without a reply.
    private var begun: [Int: Int] = [:]
    /// The same calls, as far as they are requests on a link.
    private var requests: [DeviceID: Set<Int>] = [:]
    /// The sockets for writing, by their calls.
    private var sockets: [Int: (peripheral: DeviceID, handle: UInt16)] = [:]
    /// The position at which the last attempt to connect ended: a controller makes one at a time.
    private var lastAttempt = 0

    init(_ recording: Recording) {
        entries = recording.entries
        plans = ExportPlan.plans(of: entries)
    }

    /// Returns the packets, after the last entry.
    mutating func finish() -> PacketLog {
        for id in requests.keys.sorted(by: { $0.rawValue < $1.rawValue }) { abandon(id) }
        return log
    }

    // MARK: Entries

    /// Takes the entry at a position.
    mutating func take(_ position: Int) {
        let entry = entries[position]
        switch entry.what {
        case .reply:
            if let call = entry.call, let start = begun.removeValue(forKey: call) { reply(position, to: start) }
        case .packetSent: sendPacket(position)
        case .stackLost:
            if !links.isEmpty { resetController(position) }
        case .scan, .stopScan:
            let parameters: [UInt8] = [entry.what == .scan ? 1 : 0, 0]
            log.add(
                [.command(HCI.setScanEnable, parameters), .completion(of: HCI.setScanEnable)], at: position)
        default:
            guard let id = entry.peripheral, plans[id] != nil, !entry.what.isOfHost else { break }
            if let call = entry.call {
                begun[call] = position
                if entry.what.isRequest { requests[id, default: []].insert(call) }
            }
            take(position, of: id)
        }
    }

    private mutating func take(_ position: Int, of id: DeviceID) {
        let entry = entries[position]
        switch entry.what {
        case .known: addressTypes[id] = entry.advertisement?.addressType
        case .advertisement: advertise(position, id)
        case .disconnect:
            guard let link = links[id], !link.isEnding else { break }
            links[id]?.isEnding = true
            var parameters: [UInt8] = []
            parameters.append16(link.handle)
            log.add(
                [.command(HCI.disconnect, parameters + [0x13]), .status(of: HCI.disconnect)], at: position)
        case .linkEnded: endLink(position, id, entry.error?.disconnectReason ?? .unknown)
        case .servicesChanged:
            guard let handle = changeHandles[id] else { break }
            send([.received(ATTOpcode.indication, handle, 1, 0xFFFF), .sent(ATTOpcode.confirmation)], id, at: position)
        case .value:
            guard let handle = entry.handle?.next else { break }
            let value = Self.limited(entry.value)
            let properties = trees[id]?[handle - 1]?.properties ?? .notify
            let isIndication = properties.contains(.indicate) && !properties.contains(.notify)
            let pdu = ATTPDU.received(
                isIndication ? ATTOpcode.indication : ATTOpcode.notification, handle, value: value)
            agreeOnMTU(id, for: pdu.bytes.count, at: position, isRequired: true)
            send([pdu] + (isIndication ? [.sent(ATTOpcode.confirmation)] : []), id, at: position)
        default: break
        }
    }

    private mutating func advertise(_ position: Int, _ id: DeviceID) {
        guard let advertisement = entries[position].advertisement, let plan = plans[id] else { return }
        addressTypes[id] = advertisement.addressType
        log.add(AdvertisementPackets(advertisement, plan.address).events, at: position)
    }

    private mutating func sendPacket(_ position: Int) {
        let entry = entries[position]
        guard let socket = entry.call.flatMap({ sockets[$0] }), let handle = socket.handle.next else { return }
        let pdu = ATTPDU.sent(ATTOpcode.writeCommand, handle, value: Self.limited(entry.value))
        agreeOnMTU(socket.peripheral, for: pdu.bytes.count, at: position, isRequired: true)
        send([pdu], socket.peripheral, at: position)
    }

    /// A value as long as it may be in a PDU of any length.
    private static func limited(_ value: [UInt8]?) -> [UInt8] { Array((value ?? []).prefix(65_000)) }

    // MARK: Calls

    private mutating func reply(_ end: Int, to start: Int) {
        let (call, reply) = (entries[start], entries[end])
        guard let id = call.peripheral else { return }
        if call.what.isRequest, let number = call.call { requests[id]?.remove(number) }
        // Of what failed on this machine, the peripheral heard nothing.
        if let error = reply.error, error.attError == nil {
            switch call.what {
            case .connect: failConnection(start, end, error)
            case .pair: failPairing(start, end, error)
            default:
                if error.mayHaveReachedPeripheral, links[id] != nil { request(start, nil) }
            }
            return
        }
        switch call.what {
        case .connect: connect(start, end, id)
        case .disconnect:
            // A recording need not have the end of a link that this machine ends.
            if links[id]?.isEnding == true, reply.error == nil { endLink(end, id, .local) }
        case .pair: pair(start, end, id)
        case .signalStrength:
            guard let number = reply.number else { break }
            openLink(id, start)
            var parameters: [UInt8] = []
            parameters.append16(links[id]?.handle ?? 0)
            log.add([.command(HCI.readRSSI, parameters)], at: start)
            let strength = UInt8(bitPattern: Int8(clamping: number))
            log.add([.completion(of: HCI.readRSSI, parameters + [strength])], at: end)
        case .acquireWriting:
            if let number = call.call, let handle = call.handle { sockets[number] = (id, handle) }
        default: request(start, end)
        }
    }

    /// Adds a request on a link, and its response unless `end` is nil.
    private mutating func request(_ start: Int, _ end: Int?) {
        guard let id = entries[start].peripheral, entries[start].what.isRequest else { return }
        openLink(id, start)
        let begin = max(start, links[id]?.last ?? 0)
        let pdus = pdus(start, end, id, at: begin)
        guard let first = pdus.first else { return }
        send([first], id, at: begin)
        send(Array(pdus.dropFirst()), id, at: end ?? begin)
        links[id]?.last = max(begin, end ?? begin)
    }

    private mutating func pdus(_ start: Int, _ end: Int?, _ id: DeviceID, at begin: Int) -> [ATTPDU] {
        let call = entries[start]
        let reply = end.map { entries[$0] }
        var outcome = ATTTraffic.Outcome.unknown
        if let reply {
            outcome = reply.error?.attError.map(ATTTraffic.Outcome.failure) ?? .success(Self.limited(reply.value))
        }
        switch call.what {
        case .discover: return discovery(reply, id)
        case .attMTU:
            // Once on a link, unless it is another one.
            guard let number = reply?.number, number != links[id]?.mtu || number == ATTOpcode.defaultMTU,
                let mtu = UInt16(exactly: number), number >= ATTOpcode.defaultMTU
            else { return [] }
            links[id]?.mtu = number
            return [.sent(ATTOpcode.mtuRequest, mtu), .received(ATTOpcode.mtuResponse, mtu)]
        default: break
        }
        guard let handle = call.handle, let valueHandle = handle.next else { return [] }
        let value = Self.limited(call.value)
        let offset = min(max(call.offset ?? 0, 0), 0xFFFF)
        func traffic() -> ATTTraffic { ATTTraffic(mtu: links[id]?.mtu ?? ATTOpcode.defaultMTU, outcome: outcome) }
        switch call.what {
        case .read, .readDescriptor:
            if case .success(let value) = outcome { agreeOnMTU(id, for: value.count + 1, at: begin) }
            return traffic().read(call.what == .read ? valueHandle : handle, offset: offset)
        case .write, .reliableWrite, .writeDescriptor:
            agreeOnMTU(id, for: value.count + 3, at: begin)
            return traffic().write(
                value, to: call.what == .writeDescriptor ? handle : valueHandle, offset: offset,
                isReliable: call.what == .reliableWrite)
        case .command:
            agreeOnMTU(id, for: value.count + 3, at: begin, isRequired: true)
            return [.sent(ATTOpcode.writeCommand, valueHandle, value: value)]
        case .subscribe, .subscribeSocket, .unsubscribe:
            guard let (configuration, properties) = configuration(of: handle, id) else { return [] }
            let isNotified = properties.contains(.notify) || !properties.contains(.indicate)
            let bits: UInt8 = call.what == .unsubscribe ? 0 : isNotified ? 1 : 2
            return traffic().write([bits, 0], to: configuration, offset: 0, isReliable: false)
        default: return []
        }
    }

    /// Returns the handle of a client configuration, after the value where the services are not known. Nil if there is
    /// none.
    private func configuration(of handle: UInt16, _ id: DeviceID) -> (UInt16, CharacteristicProperties)? {
        guard let tree = trees[id] else { return handle < 0xFFFE ? (handle + 2, .notify) : nil }
        guard let characteristic = tree[handle], let found = characteristic.configuration else { return nil }
        return (found, characteristic.properties)
    }

    private mutating func discovery(_ reply: RecordedEntry?, _ id: DeviceID) -> [ATTPDU] {
        guard let plan = plans[id] else { return [] }
        let mtu = links[id]?.mtu ?? ATTOpcode.defaultMTU
        guard let services = reply?.services else {
            return Array(DiscoveryTraffic(GATTDatabase(services: []), mtu: mtu).pdus.prefix(1))
        }
        let complete = plan.completed(services)
        var tree: [UInt16: Characteristic] = [:]
        changeHandles[id] = nil
        for characteristic in complete.services.flatMap(\.characteristics) {
            let configuration = characteristic.descriptors.first { $0.uuid == .clientConfiguration }?.handle
            tree[characteristic.handle] = Characteristic(
                properties: characteristic.properties, configuration: configuration)
            if characteristic.uuid == .serviceChanged { changeHandles[id] = characteristic.valueHandle }
        }
        trees[id] = tree
        return DiscoveryTraffic(complete, mtu: mtu).pdus
    }

    // MARK: Links

    private mutating func connect(_ start: Int, _ end: Int, _ id: DeviceID) {
        guard links[id] == nil, let plan = plans[id] else { return }
        let begin = beginAttempt(start, plan, id)
        linkCount += 1
        // Handles are below 0x0F00 (Core Specification 5.4, volume 4, part E, section 5.3.1).
        let handle = UInt16(1 + linkCount % 0x0EFF)
        log.add([connection(0, handle, plan, id)], at: max(begin, end))
        links[id] = Link(handle: handle, last: end)
        lastAttempt = max(begin, end)
    }

    private mutating func failConnection(_ start: Int, _ end: Int, _ error: BLEError) {
        guard let id = entries[start].peripheral, let plan = plans[id], links[id] == nil else { return }
        let isCancelled = [.connectionCancelled, .cancelled, .timedOut].contains(error.code)
        guard isCancelled || error.code == .connectionFailed else { return }
        let begin = beginAttempt(start, plan, id)
        if isCancelled {
            log.add([.command(HCI.cancelConnection), .completion(of: HCI.cancelConnection)], at: max(begin, end))
        }
        // The identifier of the connection is not known: it was cancelled. Otherwise it failed to be established.
        log.add([connection(isCancelled ? 0x02 : 0x3E, 0, plan, id)], at: max(begin, end))
        lastAttempt = max(begin, end)
    }

    /// Begins to connect when no other attempt is in progress. Returns that position.
    private mutating func beginAttempt(_ start: Int, _ plan: ExportPlan, _ id: DeviceID) -> Int {
        let begin = max(start, lastAttempt)
        // 60 ms of each 60 ms; no list; a link every 30 to 50 ms, which is lost after 420 ms.
        let parameters = [0x60, 0, 0x60, 0, 0] + subject(plan, id) + [0, 0x18, 0, 0x28, 0, 0, 0, 0x2A, 0, 0, 0, 0, 0]
        log.add([.command(HCI.createConnection, parameters), .status(of: HCI.createConnection)], at: begin)
        return begin
    }

    private func connection(_ status: UInt8, _ handle: UInt16, _ plan: ExportPlan, _ id: DeviceID) -> HCIPacket {
        var parameters: [UInt8] = [HCI.connectionComplete, status]
        parameters.append16(handle)
        // The role of a central; every 50 ms.
        return .event(HCI.leMeta, parameters + [0] + subject(plan, id) + [0x28, 0, 0, 0, 0x2A, 0, 0])
    }

    private func subject(_ plan: ExportPlan, _ id: DeviceID) -> [UInt8] {
        [(addressTypes[id] ?? plan.address.likelyType).packetValue] + plan.address.bytes
    }

    /// Begins a link that the recording does not begin.
    private mutating func openLink(_ id: DeviceID, _ position: Int) {
        if links[id] == nil { connect(position, position, id) }
    }

    private mutating func endLink(_ position: Int, _ id: DeviceID, _ reason: DisconnectReason) {
        abandon(id)
        guard let link = links[id] else { return }
        if reason == .adapterGone { return resetController(position) }
        let code: UInt8 =
            switch reason {
            case .local: 0x16
            case .remote: 0x13
            case .timeout: 0x08
            case .authentication: 0x05
            default: 0x1F
            }
        var parameters: [UInt8] = [0]
        parameters.append16(link.handle)
        log.add([.event(HCI.disconnectionComplete, parameters + [code])], at: position)
        links[id] = nil
    }

    /// The controller loses all its links.
    private mutating func resetController(_ position: Int) {
        for id in links.keys.sorted(by: { $0.rawValue < $1.rawValue }) { abandon(id) }
        links = [:]
        log.add([.command(HCI.reset), .completion(of: HCI.reset)], at: position)
    }

    /// Sends the first request that has no reply. A link carries one at a time: later ones were not sent.
    private mutating func abandon(_ id: DeviceID) {
        guard let calls = requests.removeValue(forKey: id), links[id] != nil else { return }
        let starts = calls.compactMap { begun.removeValue(forKey: $0) }
        if let first = starts.min() { request(first, nil) }
    }

    // MARK: Packets

    private mutating func send(_ pdus: [ATTPDU], _ id: DeviceID, at position: Int) {
        openLink(id, position)
        guard let link = links[id] else { return }
        for pdu in pdus {
            log.add(
                HCIPacket.acl(link.handle, channel: HCI.attributeChannel, pdu.bytes, isSent: pdu.isSent), at: position)
        }
    }

    /// Agrees on the peripheral's ATT MTU for a PDU that is longer than the present one, and on a longer one if the PDU
    /// cannot be sent in parts.
    private mutating func agreeOnMTU(
        _ id: DeviceID, for count: Int, at position: Int, isRequired: Bool = false
    ) {
        openLink(id, position)
        guard let link = links[id], link.mtu < count else { return }
        let usual = plans[id]?.mtu ?? ExportPlan.usualMTU
        let number = isRequired ? max(usual, count) : usual
        guard let mtu = UInt16(exactly: number), number > link.mtu else { return }
        send([.sent(ATTOpcode.mtuRequest, mtu), .received(ATTOpcode.mtuResponse, mtu)], id, at: position)
        links[id]?.mtu = number
    }

    private mutating func pair(_ start: Int, _ end: Int, _ id: DeviceID) {
        openLink(id, start)
        guard let link = links[id] else { return }
        beginPairing(start, link)
        var handle: [UInt8] = []
        handle.append16(link.handle)
        // The keys are not recorded: they are zeros.
        let parameters = handle + [UInt8](repeating: 0, count: 26)
        log.add(
            HCIPacket.acl(
                link.handle, channel: HCI.securityChannel, [PairingConversation.pairingResponse, 3, 0, 1, 16, 0, 0],
                isSent: false) + [
                    .command(HCI.enableEncryption, parameters), .status(of: HCI.enableEncryption),
                    .event(HCI.encryptionChange, [0] + handle + [1]),
                ], at: end)
    }

    private mutating func failPairing(_ start: Int, _ end: Int, _ error: BLEError) {
        guard let id = entries[start].peripheral, let link = links[id], error.code != .alreadyPaired else { return }
        let codes: [BLEError.Code] = [.pairingFailed, .pairingRejected, .pairingCancelled, .pairingTimedOut]
        guard codes.contains(error.code) || error.mayHaveReachedPeripheral else { return }
        beginPairing(start, link)
        guard codes.contains(error.code) else { return }
        let reason =
            error.code == .pairingRejected ? PairingConversation.notSupported : PairingConversation.unspecified
        log.add(
            HCIPacket.acl(
                link.handle, channel: HCI.securityChannel, [PairingConversation.pairingFailed, reason], isSent: false),
            at: end)
    }

    private mutating func beginPairing(_ start: Int, _ link: Link) {
        // No input or output; bonding; keys of 16 bytes.
        let request: [UInt8] = [PairingConversation.pairingRequest, 3, 0, 1, 16, 0, 0]
        log.add(HCIPacket.acl(link.handle, channel: HCI.securityChannel, request, isSent: true), at: start)
    }
}

extension RecordedEntry.What {
    /// Whether it is a request of the Attribute Protocol.
    fileprivate var isRequest: Bool {
        switch self {
        case .discover, .attMTU, .read, .write, .reliableWrite, .command, .readDescriptor, .writeDescriptor,
            .subscribe, .subscribeSocket, .unsubscribe:
            true
        default: false
        }
    }
}
