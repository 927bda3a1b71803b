internal import BLE

/// The Attribute Protocol on one link, as its central sees it (Core Specification 5.4, volume 3, part F).
///
/// Requests become calls. A discovery is all requests for types and handles until another attribute is used, or the
/// services change, or the discovery begins again, or the link or the capture ends.
struct ATTConversation {
    /// A call of which the reply is awaited, with its place in the log.
    private struct Read {
        /// Nil for what the system reads for itself.
        var call: Int?
        var handle: UInt16
        var offset: Int
        var value: [UInt8] = []
        /// When the last part of the value came.
        var answered: Moment?
    }

    private struct Part {
        var handle: UInt16
        var offset: Int
        var value: [UInt8]
    }

    private enum Request {
        case mtu(call: Int, own: Int)
        case discovery(ATTDiscoveryRequest)
        case read(Read)
        case readByType(Moment)
        case readMultiple([Read])
        case write(call: Int)
        case prepareWrite
        case executeWrite(calls: [Int])
        /// The system's own, or not understood.
        case other
    }

    /// A request that was refused because the link was not secure enough. The system repeats it by itself once the link
    /// is, which is one call of the program.
    private struct Refused {
        var pdu: [UInt8]
        var opcode: UInt8
        var request: Request
        var error: BLEError
        var moment: Moment
        var isSecured = false
    }

    private let peripheral: DeviceID
    private(set) var attributes: DiscoveredAttributes
    private var mtu = ATTOpcode.defaultMTU
    private var request: (opcode: UInt8, request: Request)?
    /// The last request.
    private var sent: [UInt8] = []
    private var refused: Refused?
    /// The MTU that the peripheral has asked for, as a client.
    private var requestedMTU: Int?
    /// A read whose value is as long as a response can be: the next request may read its rest.
    private var longRead: Read?
    private var parts: (began: Moment, parts: [Part])?
    private var discovery: (began: Moment, answered: Moment?, hasServices: Bool)?

    init(_ peripheral: DeviceID, knowing attributes: DiscoveredAttributes?) {
        self.peripheral = peripheral
        self.attributes = attributes ?? DiscoveredAttributes()
    }

    // MARK: Packets

    /// Takes a PDU. False if it is malformed or unknown.
    mutating func take(_ pdu: ArraySlice<UInt8>, isSent: Bool, _ log: inout EntryLog) -> Bool {
        var reader = PacketReader(pdu)
        guard let opcode = reader.uint8() else { return false }
        // Clients use even opcodes, except for the answer to an indication.
        let isOfClient = opcode & 1 == 0
        guard isOfClient == isSent else { return takeAsServer(opcode, &reader) }
        guard isSent else { return receive(opcode, &reader, &log) }
        guard opcode != ATTOpcode.confirmation else { return true }
        // Commands are not answered.
        if opcode & 0x40 == 0 {
            if repeatsRefused(pdu) { return true }
            sent = Array(pdu)
        }
        finishRefused(&log)
        return send(opcode, &reader, &log)
    }

    // MARK: Security

    /// The link is encrypted now, or could not be.
    mutating func encryptionChanged(status: UInt8, _ log: inout EntryLog) {
        if status == 0 { refused?.isSecured = true } else { finishRefused(&log) }
    }

    private mutating func repeatsRefused(_ pdu: ArraySlice<UInt8>) -> Bool {
        guard let refused, refused.isSecured, refused.pdu.elementsEqual(pdu) else { return false }
        request = (refused.opcode, refused.request)
        self.refused = nil
        return true
    }

    private mutating func finishRefused(_ log: inout EntryLog) {
        guard let refused else { return }
        self.refused = nil
        for call in Self.calls(of: refused.request) { log.reply(call, at: refused.moment, error: refused.error) }
    }

    /// Follows what the peripheral asks of this machine as far as it concerns both.
    private mutating func takeAsServer(_ opcode: UInt8, _ reader: inout PacketReader) -> Bool {
        switch opcode {
        case ATTOpcode.mtuRequest: requestedMTU = reader.uint16().map(Int.init)
        case ATTOpcode.mtuResponse:
            guard let own = reader.uint16(), let requested = requestedMTU else { break }
            mtu = max(ATTOpcode.defaultMTU, min(Int(own), requested))
        default: break
        }
        return true
    }

    /// The end of the link. Nil for the end of the capture.
    mutating func end(_ error: BLEError?, _ log: inout EntryLog) {
        finishRefused(&log)
        finishRead(&log)
        if let error {
            if case .discovery? = request?.request, let began = discovery?.began {
                discovery = nil
                let call = log.call(RecordedEntry(.discover, peripheral: peripheral), at: began)
                log.reply(call, error: error)
            }
            for call in Self.calls(of: request?.request) { log.reply(call, error: error) }
        }
        finishDiscovery(&log)
        request = nil
    }

    private static func calls(of request: Request?) -> [Int] {
        switch request {
        case .mtu(let call, _), .write(let call): [call]
        case .read(let read): [read.call].compactMap { $0 }
        case .readMultiple(let reads): reads.compactMap(\.call)
        case .executeWrite(let calls): calls
        case .discovery, .readByType, .prepareWrite, .other, nil: []
        }
    }

    // MARK: Requests

    private mutating func send(_ opcode: UInt8, _ reader: inout PacketReader, _ log: inout EntryLog) -> Bool {
        if opcode == ATTOpcode.readBlob {
            guard let handle = reader.uint16(), let offset = reader.uint16() else { return false }
            sendReadBlob(handle, Int(offset), &log)
            return true
        }
        if opcode == ATTOpcode.writeCommand || opcode == ATTOpcode.signedWriteCommand {
            guard let handle = reader.uint16() else { return false }
            // A signature has 12 bytes.
            let value = opcode == ATTOpcode.writeCommand ? reader.rest() : reader.rest().dropLast(12)
            finishRead(&log)
            if let call = write(handle, Array(value), .command, at: log.now, &log) { log.reply(call) }
            return true
        }
        finishRead(&log)
        guard let made = makeRequest(opcode, &reader, &log) else {
            request = (opcode, .other)
            return false
        }
        request = (opcode, made)
        return true
    }

    private mutating func makeRequest(
        _ opcode: UInt8, _ reader: inout PacketReader, _ log: inout EntryLog
    ) -> Request? {
        switch opcode {
        case ATTOpcode.mtuRequest:
            guard let own = reader.uint16() else { return nil }
            return .mtu(call: log.call(RecordedEntry(.attMTU, peripheral: peripheral)), own: Int(own))
        case ATTOpcode.findInformation, ATTOpcode.findByTypeValue, ATTOpcode.readByType, ATTOpcode.readByGroupType:
            guard let asked = ATTDiscoveryRequest(opcode, &reader) else { return nil }
            if asked.isOther { return asked.type == .databaseHash ? .other : .readByType(log.now) }
            if asked.beginsDiscovery, discovery?.hasServices == true { finishDiscovery(&log) }
            discovery = discovery ?? (log.now, nil, false)
            return .discovery(asked)
        case ATTOpcode.read: return reader.uint16().map { .read(beginRead($0, offset: 0, &log)) }
        case ATTOpcode.readMultipleVariable:
            var reads: [Read] = []
            while let handle = reader.uint16() { reads.append(beginRead(handle, offset: 0, &log)) }
            return .readMultiple(reads)
        case ATTOpcode.write:
            guard let handle = reader.uint16() else { return nil }
            return write(handle, Array(reader.rest()), .write, at: log.now, &log).map { .write(call: $0) } ?? .other
        case ATTOpcode.prepareWrite:
            guard let handle = reader.uint16(), let offset = reader.uint16() else { return nil }
            parts = parts ?? (log.now, [])
            parts?.parts.append(Part(handle: handle, offset: Int(offset), value: Array(reader.rest())))
            return .prepareWrite
        case ATTOpcode.executeWrite:
            guard let flags = reader.uint8() else { return nil }
            guard flags == 1 else {
                parts = nil
                return .other
            }
            return .executeWrite(calls: writeParts(&log))
        default: return nil
        }
    }

    private mutating func sendReadBlob(_ handle: UInt16, _ offset: Int, _ log: inout EntryLog) {
        if let read = longRead, read.handle == handle, read.offset + read.value.count == offset {
            longRead = nil
            request = (ATTOpcode.readBlob, .read(read))
        } else {
            finishRead(&log)
            request = (ATTOpcode.readBlob, .read(beginRead(handle, offset: offset, &log)))
        }
    }

    private mutating func beginRead(_ handle: UInt16, offset: Int, _ log: inout EntryLog) -> Read {
        let entry: RecordedEntry? =
            switch attributes.place(of: handle) {
            case .characteristic(let declaration):
                RecordedEntry(.read, peripheral: peripheral, handle: declaration, offset: offset)
            case .configuration, .descriptor:
                RecordedEntry(.readDescriptor, peripheral: peripheral, handle: handle, offset: offset)
            case .extendedProperties where discovery == nil:
                RecordedEntry(.readDescriptor, peripheral: peripheral, handle: handle, offset: offset)
            case .extendedProperties, .serviceChanged, .hidden: nil
            }
        if entry != nil { finishDiscovery(&log) }
        return Read(call: entry.map { log.call($0) }, handle: handle, offset: offset)
    }

    /// Adds a write, unless it is the system's own. Returns its call.
    private mutating func write(
        _ handle: UInt16, _ value: [UInt8], _ what: RecordedEntry.What, offset: Int = 0, at moment: Moment,
        _ log: inout EntryLog
    ) -> Int? {
        let entry: RecordedEntry
        switch attributes.place(of: handle) {
        case .characteristic(let declaration):
            entry = RecordedEntry(what, peripheral: peripheral, handle: declaration, value: value, offset: offset)
        case .configuration(let declaration):
            let isOn = value.contains { $0 != 0 }
            entry = RecordedEntry(isOn ? .subscribe : .unsubscribe, peripheral: peripheral, handle: declaration)
        case .descriptor, .extendedProperties:
            entry = RecordedEntry(
                .writeDescriptor, peripheral: peripheral, handle: handle, value: value, offset: offset)
        case .serviceChanged, .hidden: return nil
        }
        finishDiscovery(&log)
        return log.call(entry, at: moment)
    }

    /// Adds the prepared writes. Returns their calls.
    ///
    /// What fits into one request is prepared only to be compared, so that is a reliable write.
    private mutating func writeParts(_ log: inout EntryLog) -> [Int] {
        guard let (began, prepared) = parts else { return [] }
        parts = nil
        var writes: [Part] = []
        for part in prepared {
            if let last = writes.last, last.handle == part.handle, last.offset + last.value.count == part.offset {
                writes[writes.count - 1].value += part.value
            } else {
                writes.append(part)
            }
        }
        return writes.compactMap { part in
            var isReliable = part.offset == 0 && part.value.count <= mtu - 3
            if case .characteristic(let declaration) = attributes.place(of: part.handle) {
                isReliable = isReliable || attributes.allowsReliableWrites(declaration)
            }
            return write(
                part.handle, part.value, isReliable ? .reliableWrite : .write, offset: part.offset, at: began, &log)
        }
    }

    // MARK: Answers

    private mutating func receive(_ opcode: UInt8, _ reader: inout PacketReader, _ log: inout EntryLog) -> Bool {
        switch opcode {
        case ATTOpcode.notification, ATTOpcode.indication:
            guard let handle = reader.uint16() else { return false }
            value(Array(reader.rest()), of: handle, &log)
            return true
        case ATTOpcode.multipleNotification:
            while reader.remaining > 0 {
                guard let handle = reader.uint16(), let count = reader.uint16(), let bytes = reader.bytes(Int(count))
                else { return false }
                value(Array(bytes), of: handle, &log)
            }
            return true
        case ATTOpcode.errorResponse:
            guard let opcode = reader.uint8(), reader.uint16() != nil, let code = reader.uint8() else { return false }
            guard let pending = request, pending.opcode == opcode else { return true }
            request = nil
            let reason = ATTError(rawValue: code)
            let isInsecure = reason == .insufficientAuthentication || reason == .insufficientEncryption
            switch pending.request {
            case .read where isInsecure, .write where isInsecure:
                refused = Refused(
                    pdu: sent, opcode: opcode, request: pending.request, error: BLEError(reason).at(peripheral),
                    moment: log.now)
            default: fail(pending.request, reason, &log)
            }
            return true
        default:
            // The response to a request that came before the capture began is ignored.
            guard let pending = request, ATTOpcode.response(to: pending.opcode) == opcode else { return opcode < 0x24 }
            request = nil
            return finish(pending.request, &reader, &log)
        }
    }

    private mutating func value(_ value: [UInt8], of handle: UInt16, _ log: inout EntryLog) {
        switch attributes.place(of: handle) {
        case .characteristic(let declaration):
            log.add(RecordedEntry(.value, peripheral: peripheral, handle: declaration, value: value))
        case .serviceChanged:
            finishDiscovery(&log)
            log.add(RecordedEntry(.servicesChanged, peripheral: peripheral))
        case .configuration, .descriptor, .extendedProperties, .hidden: break
        }
    }

    private mutating func finish(_ request: Request, _ reader: inout PacketReader, _ log: inout EntryLog) -> Bool {
        switch request {
        case .mtu(let call, let own):
            guard let other = reader.uint16() else { return false }
            mtu = max(ATTOpcode.defaultMTU, min(own, Int(other)))
            log.reply(call, number: mtu)
        case .discovery(let asked):
            discovery?.answered = log.now
            if asked.isForServices { discovery?.hasServices = true }
            return asked.apply(&reader, to: &attributes)
        case .read(var read):
            let part = reader.rest()
            read.value += part
            read.answered = log.now
            if attributes.place(of: read.handle) == .extendedProperties, discovery != nil {
                discovery?.answered = log.now
                attributes.setExtendedProperties(read.value.first ?? 0, of: read.handle)
            }
            longRead = read
            if part.count < mtu - 1 { finishRead(&log) }
        case .readByType(let began):
            // Each is a handle with its value, all of one length.
            guard let count = reader.uint8(), count >= 2 else { return false }
            while let handle = reader.uint16(), let bytes = reader.bytes(Int(count) - 2) {
                guard case .characteristic(let declaration) = attributes.place(of: handle) else { continue }
                finishDiscovery(&log)
                let call = log.call(RecordedEntry(.read, peripheral: peripheral, handle: declaration), at: began)
                log.reply(call, value: Array(bytes))
            }
        case .readMultiple(let reads):
            for read in reads {
                guard let count = reader.uint16() else { break }
                // The last value may be cut off at the end of the PDU.
                let value = reader.bytes(min(Int(count), reader.remaining)) ?? []
                if let call = read.call { log.reply(call, value: Array(value)) }
            }
        case .write(let call): log.reply(call)
        case .executeWrite(let calls): for call in calls { log.reply(call) }
        case .prepareWrite, .other: break
        }
        return true
    }

    private mutating func fail(_ request: Request, _ reason: ATTError, _ log: inout EntryLog) {
        let error = BLEError(reason).at(peripheral)
        switch request {
        case .mtu(let call, _):
            // The peripheral knows no other length.
            log.reply(call, number: mtu)
        case .discovery(let asked):
            discovery?.answered = log.now
            if asked.isForServices { discovery?.hasServices = true }
            if reason == .attributeNotFound { asked.applyNothing(to: &attributes) }
        case .read(let read):
            if read.answered != nil, reason == .invalidOffset || reason == .attributeNotLong {
                // The value ended exactly with the part before.
                longRead = read
                finishRead(&log)
            } else if let call = read.call {
                log.reply(call, error: error)
            }
        case .readMultiple(let reads): for call in reads.compactMap(\.call) { log.reply(call, error: error) }
        case .write(let call): log.reply(call, error: error)
        case .executeWrite(let calls): for call in calls { log.reply(call, error: error) }
        case .prepareWrite: for call in writeParts(&log) { log.reply(call, error: error) }
        case .readByType, .other: break
        }
    }

    /// Ends a read that no request continues.
    private mutating func finishRead(_ log: inout EntryLog) {
        guard let read = longRead else { return }
        longRead = nil
        if let call = read.call { log.reply(call, at: read.answered, value: read.value) }
    }

    private mutating func finishDiscovery(_ log: inout EntryLog) {
        guard let discovery else { return }
        self.discovery = nil
        guard let answered = discovery.answered else {
            _ = log.call(RecordedEntry(.discover, peripheral: peripheral), at: discovery.began)
            return
        }
        guard let services = attributes.database(reserve: { log.reserve($0) }) else { return log.skip() }
        let call = log.call(RecordedEntry(.discover, peripheral: peripheral), at: discovery.began)
        log.reply(call, at: answered, services: services)
    }
}
