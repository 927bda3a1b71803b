internal import BLE

/// The links that a controller has as the central (Core Specification 5.4, volume 4, part E, section 7).
struct CentralLinks {
    private struct Link {
        let peripheral: DeviceID
        var attributes: ATTConversation
        var pairing: PairingConversation
        var sent = L2CAPReassembly()
        var received = L2CAPReassembly()
        /// The call that ends the link.
        var disconnect: Int?
        /// The call for its signal strength.
        var strength: Int?
    }

    private struct Attempt {
        /// Nil if the controller connects to any peripheral of a list.
        var peripheral: DeviceID?
        var began: Moment
        var isCancelled = false
    }

    private var links: [UInt16: Link] = [:]
    private var attempt: Attempt?
    /// What was discovered on earlier links: a system may not discover it again.
    private var known: [DeviceID: DiscoveredAttributes] = [:]
    /// The handle that the last command to disconnect was about.
    private var disconnecting: UInt16?

    // MARK: Packets

    /// Takes a command. False if it is malformed.
    mutating func take(command bytes: ArraySlice<UInt8>, _ log: inout EntryLog) -> Bool {
        var reader = PacketReader(bytes)
        guard let opcode = reader.uint16(), let count = reader.uint8(), reader.remaining >= count else { return false }
        switch opcode {
        case HCI.createConnection: return beginAttempt(&reader, skipping: 4, log.now)
        case HCI.extendedCreateConnection: return beginAttempt(&reader, skipping: 0, log.now)
        case HCI.extendedCreateConnection2: return beginAttempt(&reader, skipping: 2, log.now)
        case HCI.cancelConnection: attempt?.isCancelled = true
        case HCI.reset: endAll(.adapterGone, &log)
        case HCI.disconnect:
            guard let handle = reader.uint16() else { return false }
            disconnecting = handle
            guard let link = links[handle], link.disconnect == nil else { break }
            links[handle]?.disconnect = log.call(RecordedEntry(.disconnect, peripheral: link.peripheral))
        case HCI.readRSSI:
            guard let handle = reader.uint16() else { return false }
            guard let link = links[handle] else { break }
            let call = log.call(RecordedEntry(.signalStrength, peripheral: link.peripheral))
            links[handle]?.strength = call
        default: break
        }
        return true
    }

    /// Takes an event other than an advertising report, after its code and length. False if it is malformed.
    mutating func take(event code: UInt8, _ reader: inout PacketReader, _ log: inout EntryLog) -> Bool {
        switch code {
        case HCI.disconnectionComplete:
            guard let status = reader.uint8(), let handle = reader.uint16(), let reason = reader.uint8() else {
                return false
            }
            if status == 0 { end(handle, reason: reason, &log) }
        case HCI.encryptionChange, HCI.encryptionChange2, HCI.encryptionKeyRefresh:
            guard let status = reader.uint8(), let handle = reader.uint16() else { return false }
            links[handle]?.attributes.encryptionChanged(status: status, &log)
            links[handle]?.pairing.encryptionChanged(status: status, &log)
        case HCI.commandComplete:
            guard reader.bytes(1) != nil, let opcode = reader.uint16() else { return false }
            guard opcode == HCI.readRSSI else { break }
            return takeStrength(&reader, &log)
        case HCI.commandStatus:
            guard let status = reader.uint8(), reader.bytes(1) != nil, let opcode = reader.uint16() else {
                return false
            }
            if status != 0 { commandFailed(opcode, &log) }
        default: break
        }
        return true
    }

    /// Takes an LE Connection Complete, after its subevent code, in any of its forms. False if it is malformed.
    mutating func take(connection reader: inout PacketReader, _ log: inout EntryLog) -> Bool {
        guard let status = reader.uint8(), let handle = reader.uint16(), let role = reader.uint8(),
            reader.bytes(1) != nil, let peripheral = reader.address()
        else { return false }
        guard role == 0 else { return true }
        let attempt = attempt
        self.attempt = nil
        guard status == 0 else {
            if let attempt { fail(attempt, &log) }
            return true
        }
        end(handle, .unknown, &log)
        let call = log.call(RecordedEntry(.connect, peripheral: peripheral), at: attempt?.began)
        log.reply(call)
        links[handle] = Link(
            peripheral: peripheral, attributes: ATTConversation(peripheral, knowing: known[peripheral]),
            pairing: PairingConversation(peripheral))
        return true
    }

    /// Takes an ACL packet. False if it is malformed, or is missing fragments.
    mutating func take(acl bytes: ArraySlice<UInt8>, isSent: Bool, _ log: inout EntryLog) -> Bool {
        var reader = PacketReader(bytes)
        guard let field = reader.uint16(), let count = reader.uint16() else { return false }
        let handle = field & 0x0FFF
        // Other links: classic ones, or as a peripheral, or from before the capture.
        guard links[handle] != nil else { return true }
        guard let fragment = reader.bytes(Int(count)) else { return false }
        let isFirst = field >> 12 & 3 != 1
        let results =
            if isSent {
                links[handle]?.sent.take(fragment, isFirst: isFirst)
            } else {
                links[handle]?.received.take(fragment, isFirst: isFirst)
            }
        var isGood = true
        for result in results ?? [] {
            switch result {
            case .incomplete: break
            case .lost: isGood = false
            case .frame(let frame) where frame.channel == HCI.attributeChannel:
                isGood = links[handle]?.attributes.take(frame.payload, isSent: isSent, &log) ?? true && isGood
            case .frame(let frame) where frame.channel == HCI.securityChannel:
                isGood = links[handle]?.pairing.take(frame.payload, isSent: isSent, &log) ?? true && isGood
            // Signaling and channels of programs.
            case .frame: break
            }
        }
        return isGood
    }

    // MARK: Links

    private mutating func beginAttempt(_ reader: inout PacketReader, skipping count: Int, _ now: Moment) -> Bool {
        let isPlain = count == 4
        guard reader.bytes(count) != nil, let policy = reader.uint8(), isPlain || reader.bytes(1) != nil,
            reader.bytes(1) != nil, let peripheral = reader.address()
        else { return false }
        attempt = Attempt(peripheral: policy & 1 == 0 ? peripheral : nil, began: now)
        return true
    }

    private func fail(_ attempt: Attempt, _ log: inout EntryLog) {
        guard let peripheral = attempt.peripheral else { return }
        let call = log.call(RecordedEntry(.connect, peripheral: peripheral), at: attempt.began)
        let error =
            attempt.isCancelled
            ? BLEError(.connectionCancelled, "the attempt to connect was cancelled", peripheral: peripheral)
            : BLEError(.connectionFailed, "the link could not be established", peripheral: peripheral)
        log.reply(call, error: error)
    }

    private mutating func commandFailed(_ opcode: UInt16, _ log: inout EntryLog) {
        switch opcode {
        case HCI.createConnection, HCI.extendedCreateConnection, HCI.extendedCreateConnection2:
            if let attempt { fail(attempt, &log) }
            attempt = nil
        case HCI.disconnect:
            guard let handle = disconnecting, let call = links[handle]?.disconnect else { break }
            links[handle]?.disconnect = nil
            log.reply(call, error: BLEError(.disconnectionFailed, "the controller could not end the link"))
        default: break
        }
    }

    private mutating func takeStrength(_ reader: inout PacketReader, _ log: inout EntryLog) -> Bool {
        guard let status = reader.uint8(), let handle = reader.uint16() else { return false }
        guard let call = links[handle]?.strength else { return true }
        links[handle]?.strength = nil
        if status == 0 {
            guard let strength = reader.int8() else { return false }
            log.reply(call, number: strength)
        } else {
            log.reply(call, error: BLEError(.failed, "the controller does not know the signal strength"))
        }
        return true
    }

    /// The reasons as the Linux kernel has them (Core Specification 5.4, volume 1, part F, section 1.3).
    private mutating func end(_ handle: UInt16, reason: UInt8, _ log: inout EntryLog) {
        guard let link = links[handle] else { return }
        let known: DisconnectReason =
            switch reason {
            case 0x08: .timeout
            case 0x13, 0x14, 0x15: .remote
            case 0x05, 0x06, 0x3D: .authentication
            default: .unknown
            }
        end(handle, link.disconnect != nil || reason == 0x16 ? .local : known, &log)
    }

    private mutating func end(_ handle: UInt16, _ reason: DisconnectReason, _ log: inout EntryLog) {
        guard var link = links.removeValue(forKey: handle) else { return }
        let texts: [DisconnectReason: String] = [
            .local: "the link was ended by a call to disconnect", .remote: "the peripheral ended the link",
            .timeout: "the link was lost", .authentication: "the keys of the two sides do not match",
            .adapterGone: "the adapter was switched off or taken out",
        ]
        let error = BLEError(
            .disconnected, texts[reason] ?? "the link ended", peripheral: link.peripheral, disconnectReason: reason)
        link.attributes.end(error, &log)
        link.pairing.linkEnded(error, &log)
        if let call = link.strength { log.reply(call, error: error) }
        known[link.peripheral] = link.attributes.attributes
        log.add(RecordedEntry(.linkEnded, peripheral: link.peripheral, error: error))
        if let call = link.disconnect { log.reply(call) }
    }

    /// Ends all links.
    mutating func endAll(_ reason: DisconnectReason, _ log: inout EntryLog) {
        for handle in links.keys.sorted() { end(handle, reason, &log) }
        attempt = nil
    }

    /// The capture has ended.
    mutating func finish(_ log: inout EntryLog) {
        for handle in links.keys.sorted() { links[handle]?.attributes.end(nil, &log) }
    }
}
