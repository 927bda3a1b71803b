internal import BLE
internal import Waiting

extension TransferPeripheral {
    private var timeouts: TransferTimeouts {
        TransferTimeouts(opening: configuration.openingTimeout, progress: configuration.progressTimeout)
    }

    /// Performs the transfers of a central, one after the other, until its link ends.
    func serve(_ link: TransferLink, _ central: @Sendable () -> DeviceID?) async throws(BLEError) {
        var assembler = OpeningAssembler()
        var held = HeldLease(link.clock)
        defer { held.release() }
        var first: [UInt8]?
        // The transfer that was completed last.
        var completed: UInt16?
        while true {
            let limit = held.remaining(of: timeouts.progress)
            if let limit, limit <= .zero {
                held.release()
                continue
            }
            let next = if let first { first } else { try await link.inbox.next(within: limit, clock: link.clock) }
            first = nil
            guard let next, let packet = try? TransferPacket(decoding: next) else { continue }
            let opening: TransferOpening?
            do throws(TransferRefusal) {
                opening = try assembler.take(packet)
            } catch {
                held.release()
                try await link.send(TransferPacket(packet.token, .stop(error)).bytes)
                continue
            }
            guard let opening else {
                if let answer = Self.answer(to: packet, completed) { try await link.send(answer.bytes) }
                continue
            }
            guard let central = central(), let lease = try await lease(for: opening, of: central, &held, link) else {
                try await link.send(TransferPacket(packet.token, .stop(.busy)).bytes)
                continue
            }
            let end = try await run(opening, packet.token, link, lease, central)
            leases.didEnd(end, of: central)
            held.didEnd(end)
            if case .interrupted(let packet) = end {
                first = packet
            } else {
                completed = if case .finished = end { packet.token } else { nil }
            }
        }
    }

    /// Returns the right to a transfer: the one that the central has, or a new one. Nil if there is none.
    private func lease(
        for opening: TransferOpening, of central: DeviceID, _ held: inout HeldLease, _ link: TransferLink
    ) async throws(BLEError) -> TransferLease? {
        guard !leases.isRefused(central, for: timeouts.opening, clock: link.clock) else {
            held.release()
            return nil
        }
        if let lease = held.lease(for: opening) { return lease }
        held.release()
        let isExclusive = if case .begin = opening { true } else { false }
        if let lease = leases.lease(opening.name, isExclusive: isExclusive, for: central) { return held.hold(lease) }
        // The storage may still work for the central's former transfer, which has the name or the place.
        guard let last = held.last else { return nil }
        let isReleased = Outcome<Bool>()
        last.perform { isReleased.deliver(.success(true)) }
        let expiry = Expiry(after: timeouts.progress, clock: link.clock) { isReleased.deliver(.success(false)) }
        defer { expiry.cancel() }
        guard try await link.inbox.wait(for: isReleased) else { return nil }
        return leases.lease(opening.name, isExclusive: isExclusive, for: central).map { held.hold($0) }
    }

    /// Returns the answer to a question about a transfer that is not in progress.
    private static func answer(to packet: TransferPacket, _ completed: UInt16?) -> TransferPacket? {
        switch packet.message {
        case .status: TransferPacket(packet.token, packet.token == completed ? .done : .stop(.timedOut))
        default: nil
        }
    }

    private func run(
        _ opening: TransferOpening, _ token: UInt16, _ link: TransferLink, _ lease: TransferLease, _ central: DeviceID
    ) async throws(BLEError) -> TransferExchange.End {
        let exchange = TransferExchange(
            link: link, token: token, timeouts: timeouts, endsWithOthers: true, lease: lease, report: { _ in })
        let request: TransferRequest =
            switch opening {
            case .begin(let file, _): .send(file)
            case .fetch(let name): .receive(name)
            }
        switch try await exchange.perform({ [isAllowed] in await isAllowed(central, request) }) {
        case .success(true): break
        default: return await exchange.fail(.notAllowed)
        }
        switch opening {
        case .begin(let file, let isNew):
            guard let storage else { return await exchange.fail(.notAllowed) }
            guard file.length <= configuration.maximumLength else { return await exchange.fail(.tooLarge) }
            return try await exchange.receive(
                file, isNew: isNew, from: central, into: storage)
        case .fetch(let name):
            guard let library else { return await exchange.fail(.notFound) }
            switch try await exchange.perform({ try await library.file(named: name, for: central) }) {
            case .success(let (file, source)):
                guard 0...TransferFile.maximumLength ~= file.length else { return await exchange.fail(.tooLarge) }
                return try await exchange.send(file, from: source)
            case .failure(let error): return await exchange.fail(error)
            }
        }
    }
}

extension TransferOpening {
    /// The name of the file.
    var name: String {
        switch self {
        case .begin(let file, _): file.name
        case .fetch(let name): name
        }
    }
}
