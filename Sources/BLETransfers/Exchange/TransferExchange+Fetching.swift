internal import BLE

extension TransferExchange {
    /// How often a peripheral may offer a file again.
    private static let maximumOffers = 2

    /// Asks a peripheral for a file, and receives it.
    func fetch(
        _ name: String, from peer: DeviceID, into storage: any TransferStorage, _ maximumLength: Int
    ) async throws(BLEError) -> End {
        try await open(.fetch(name: name))
        var assembler = OpeningAssembler()
        var timer = ProgressTimer(link.clock)
        var offers = 0
        var first: [UInt8]?
        while true {
            let remaining = timer.remaining(of: timeouts.opening)
            guard remaining > .zero else { return await fail(.timedOut) }
            let next =
                if let first { first } else { try await link.inbox.next(within: remaining, clock: link.clock) }
            first = nil
            guard let bytes = next else { continue }
            guard let packet = try? TransferPacket(decoding: bytes), packet.token == token else { continue }
            if case .stop(let refusal) = packet.message { return .refused(refusal) }
            let opening: TransferOpening?
            do throws(TransferRefusal) {
                opening = try assembler.take(packet)
            } catch {
                return await fail(error)
            }
            guard let opening else { continue }
            guard case .begin(let file, let isNew) = opening, file.name == name else {
                return await fail(.invalidMessage)
            }
            guard file.length <= maximumLength else { return await fail(.tooLarge) }
            let end = try await receive(file, isNew: isNew, from: peer, into: storage)
            // The sender offers the file again if it differs from what was there.
            guard case .interrupted(let packet) = end, offers < Self.maximumOffers else { return end }
            offers += 1
            first = packet
            timer.restart()
        }
    }
}
