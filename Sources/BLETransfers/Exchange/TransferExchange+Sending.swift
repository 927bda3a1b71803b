internal import BLE

extension TransferExchange {
    /// The maximum number of bytes that are read from a source at a time.
    private static let blockLength = 16_384

    /// The part of a source that was read last.
    private struct Block {
        var offset = 0
        var bytes: ArraySlice<UInt8> = []

        func bytes(in range: Range<Int>) -> ArraySlice<UInt8>? {
            guard range.lowerBound >= offset, range.lowerBound < offset + bytes.count else { return nil }
            return bytes.dropFirst(range.lowerBound - offset).prefix(range.count)
        }
    }

    /// Sends a file.
    func send(_ file: TransferFile, from source: any TransferSource) async throws(BLEError) -> End {
        var machine = TransferSender(
            length: file.length, chunkLength: link.packetLength() - TransferPacket.dataHeaderLength)
        var timer = ProgressTimer(link.clock)
        var block = Block()
        var reported = -1
        while true {
            if let packet = try poll({ machine.didReceive($0) }) { return .interrupted(packet) }
            timer.update(machine.progress)
            if let acknowledged = machine.acknowledged, acknowledged != reported {
                reported = acknowledged
                report(
                    TransferProgress(
                        transferredBytes: acknowledged, totalBytes: file.length, resumedBytes: machine.beginning))
            }
            switch machine.action() {
            case .open(let isNew): try await open(.begin(file, isNew: isNew))
            case .send(let message): try await send(message)
            case .data(let range):
                // A receiver that has granted much may take data for ever, and say nothing.
                guard timer.remaining(of: timeouts.progress) > .zero else {
                    timer.restart()
                    machine.didTimeOut()
                    continue
                }
                if block.bytes(in: range) == nil {
                    let count = min(Self.blockLength, file.length - range.lowerBound)
                    let work = Stopwatch(link.clock)
                    let result = try await read(source, range.lowerBound, count)
                    timer.exclude(work.elapsed)
                    switch result {
                    case .success(let bytes): block = Block(offset: range.lowerBound, bytes: bytes)
                    case .failure(let error): return await fail(error)
                    }
                }
                guard let bytes = block.bytes(in: range) else { return await fail(.storageFailed) }
                try await send(.data(offset: range.lowerBound, bytes))
                machine.didSend(bytes.count)
            case .verify(let count, let checksum):
                switch try await self.checksum(of: source, count) {
                case .success(let own):
                    machine.didVerify(isEqual: own == checksum)
                    timer.restart()
                case .failure(let error): return await fail(error)
                }
            case .wait:
                let timeout = machine.isOpening ? timeouts.opening : timeouts.progress
                if let packet = try await wait(
                    &timer, timeout, { machine.didReceive($0) }, expire: { machine.didTimeOut() })
                {
                    return .interrupted(packet)
                }
            case .end(.finished): return .finished
            case .end(.refused(let refusal)): return .refused(refusal)
            case .end(.failed(let refusal)): return await fail(refusal)
            }
        }
    }

    /// Sends the packets of an opening.
    func open(_ opening: TransferOpening) async throws(BLEError) {
        for packet in opening.packets(token, length: link.packetLength()) { try await link.send(packet.bytes) }
    }

    private func read(
        _ source: any TransferSource, _ offset: Int, _ count: Int
    ) async throws(BLEError) -> Result<ArraySlice<UInt8>, any Error> {
        // What is in memory is read without a task.
        if let source = source as? ByteSource { return .success(source.read(at: offset, maximumLength: count)) }
        return try await perform { try await source.read(at: offset, maximumLength: count) }
            .flatMap { 1...count ~= $0.count ? .success($0) : .failure(TransferRefusal.storageFailed) }
    }

    /// Returns the checksum of the first bytes of a source.
    private func checksum(
        of source: any TransferSource, _ count: Int
    ) async throws(BLEError) -> Result<UInt32, any Error> {
        try await perform {
            try await TransferChecksum.checksum(count) { try await source.read(at: $0, maximumLength: $1) }
        }
    }
}

extension TransferChecksum {
    /// Returns the checksum of bytes that are read piece by piece.
    static func checksum(
        _ count: Int, reading read: (_ offset: Int, _ maximumLength: Int) async throws -> ArraySlice<UInt8>
    ) async throws -> UInt32 {
        var (checksum, offset) = (TransferChecksum(), 0)
        while offset < count {
            let bytes = try await read(offset, min(65_536, count - offset))
            guard 1...(count - offset) ~= bytes.count else { throw TransferRefusal.storageFailed }
            checksum.append(bytes)
            offset += bytes.count
        }
        return checksum.value
    }
}
