internal import BLE

/// Requests, and the key exchange.
extension MessagePeripheral {
    /// Handles a request, and sends its reply.
    func answer(_ request: PeripheralSession.Request, _ key: DeviceID?, _ number: Int) async {
        // A request that waited when its session ended does not belong to another session.
        guard !Task.isCancelled, isCurrent(number, key) else { return }
        defer { finish(request, key, number) }
        var counter: UInt64?
        do {
            let decoded: Message?
            do throws(MessageError) {
                decoded = try sessions[key]?.decode(request.frame)
            } catch {
                reject(request.frame, .undecipherable, key, number)
                throw error
            }
            guard let message = decoded else { return }
            let isExchange = message.command == encryption?.command
            if message.isEncrypted { counter = sessions[key]?.requestCounter(ofExchange: isExchange) }
            guard message.type == .request else { throw MessageRejection.notARequest }
            if isExchange {
                guard let payload = try await exchange(message, request.central, key, number) else { return }
                try reply(to: message, payload, key, number) { try $0.encode($1) }
            } else {
                sessions[key]?.beginHandling()
                let payload: [UInt8]?
                do {
                    payload = try await onRequest(
                        MessageRequest(
                            message.command, payload: message.payload, isEncrypted: message.isEncrypted,
                            from: request.central),
                        self)
                    if let payload {
                        try reply(to: message, payload, key, number) { try $0.encodeReply($1, answering: counter) }
                    }
                } catch {
                    reject(request.frame, error as? MessageRejection ?? .failed, key, number, counter)
                    report(error, request.central)
                }
            }
        } catch {
            report(error, request.central)
            if !(error is MessageError) {
                reject(request.frame, error as? MessageRejection ?? .failed, key, number, counter)
            }
        }
    }

    /// Tells the central that its request is not answered, if it is a request and the central can be told.
    private func reject(
        _ frame: [UInt8], _ reason: MessageRejection, _ key: DeviceID?, _ number: Int, _ counter: UInt64? = nil
    ) {
        guard let rejections, isCurrent(number, key), let session = sessions[key],
            let header = try? MessageHeader(decoding: frame.span), header.type == .request
        else { return }
        let isEncrypted = header.isEncrypted && reason != .undecipherable
        // Over a shared subscription, all subscribers would take it for the answer to their own requests.
        guard isEncrypted || !session.isShared else { return }
        let rejected = RejectedRequest(
            MessageCodec.Key(command: header.command, isEncrypted: header.isEncrypted), reason,
            counter: counter)
        let message = Message(
            rejections, type: .notification, isEncrypted: isEncrypted, payload: rejected.payload)
        // Without keys, nothing can be told: an exchange has failed before its end.
        if let frame = try? sessions[key]?.encodeReply(message, answering: nil) { deliver(frame, key) }
    }

    /// Sends a reply, unless the session has ended.
    private func reply(
        to request: Message, _ payload: [UInt8], _ key: DeviceID?, _ number: Int,
        encode: (inout PeripheralSession, Message) throws -> [UInt8]
    ) throws {
        guard isCurrent(number, key), sessions[key] != nil else { return }
        let reply = Message(request.command, type: .reply, isEncrypted: request.isEncrypted, payload: payload)
        deliver(try encode(&sessions[key]!, reply), key)
    }

    /// Returns the payload of the reply to a message of the key exchange.
    private func exchange(
        _ request: Message, _ central: DeviceID, _ key: DeviceID?, _ number: Int
    ) async throws -> [UInt8]? {
        let begun = generation
        if request.isEncrypted {
            guard request.payload.isEmpty else { throw MessageRejection.wrongPayload }
            guard let now = elapsed(key), let (pairingKey, isNew) = sessions[key]?.confirmed(at: now) else {
                throw MessageError.missingKey
            }
            guard await claim(key, at: now) else {
                // The exchange ends here. Otherwise, it would outlast the exchanges that another pairing ends.
                sessions[key]?.dropCandidate()
                throw MessageRejection.sessionClaimed
            }
            guard isCurrent(number, key), generation == begun else { throw MessageError.missingKey }
            if isNew { beginPairing() }
            // The key is stored before it is used, because a pairing whose key cannot be stored has failed.
            do {
                try await pairings.remember(pairingKey, limit: Self.maximumPairings)
            } catch {
                if isCurrent(number, key) { sessions[key]?.dropCandidate() }
                throw error
            }
            guard isCurrent(number, key), generation == begun, sessions[key]?.candidateKey == pairingKey else {
                if generation != begun { try await pairings.change { known in known.filter { $0 != pairingKey } } }
                throw MessageError.missingKey
            }
            sessions[key]?.confirmKeys()
            return []
        }
        let isNewPairing = try KeyExchangeRequest(decoding: request.payload).identifier == nil
        if isNewPairing {
            // A pairing never replaces another one.
            guard try await pairings.keys().count < Self.maximumPairings else {
                throw MessageRejection.tooManyPairings
            }
            guard await mayPair(central) else { throw MessageRejection.pairingRefused }
        }
        let pairing = lastPairing
        let known = try await pairings.keys()
        guard isCurrent(number, key), generation == begun, let session = sessions[key], let now = elapsed(key) else {
            return nil
        }
        let (reply, pairingKey, keys) = try session.exchange(request.payload, among: known, at: now)
        // Over a shared subscription, all subscribers would receive this reply and take it as the answer to their own
        // exchanges.
        if session.isShared, reply.isEmpty { throw MessageError.keyUnknownToDevice }
        // Another central has paired since the permission was given.
        if isNewPairing, pairing != lastPairing { throw MessageRejection.pairingRefused }
        if let pairingKey {
            beginPairing()
            try await pairings.remember(pairingKey, limit: Self.maximumPairings)
            guard generation == begun else {
                // The pairings were forgotten meanwhile, possibly before this one was stored.
                try await pairings.change { known in known.filter { $0 != pairingKey } }
                throw MessageError.missingKey
            }
            guard isCurrent(number, key) else { return nil }
        }
        sessions[key]?.use(keys)
        return reply
    }

    /// Ends the exchanges of other new pairings: the permission to pair was for one pairing.
    private func beginPairing() {
        lastPairing += 1
        for key in sessions.keys { sessions[key]?.dropNewPairing() }
    }
}
