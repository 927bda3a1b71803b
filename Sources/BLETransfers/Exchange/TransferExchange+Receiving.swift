internal import BLE
internal import Waiting

extension TransferExchange {
    /// Receives a file that was offered.
    ///
    /// - Parameter peer: the device that sends it.
    func receive(
        _ file: TransferFile, isNew: Bool, from peer: DeviceID, into storage: any TransferStorage
    ) async throws(BLEError) -> End {
        // What the storage has refused may be the part of another transfer, which is not to be suspended.
        let hasBegun = Outcome<Void>()
        let suspend: @Sendable () async -> Void = { if !hasBegun.isOpen { await storage.suspend(file) } }
        let start: Result<(Int, UInt32), any Error>
        do throws(BLEError) {
            start = try await perform {
                let offset = try await storage.begin(file, isNew: isNew, from: peer)
                hasBegun.deliver(.success(()))
                guard 0...file.length ~= offset else { throw TransferRefusal.storageFailed }
                let checksum = try await TransferChecksum.checksum(offset) {
                    try await storage.read(file, at: $0, maximumLength: $1)
                }
                guard offset == file.length, offset > 0, checksum != file.checksum else { return (offset, checksum) }
                // All bytes of other contents.
                guard try await storage.begin(file, isNew: true, from: peer) == 0 else {
                    throw TransferRefusal.storageFailed
                }
                return (0, 0)
            }
        } catch {
            lease.perform(suspend)
            throw error
        }
        switch start {
        case .failure(let error):
            lease.perform(suspend)
            return await fail(error)
        case .success(let (offset, checksum)):
            var machine = TransferReceiver(file: file, stored: offset, checksum: checksum, window: link.window())
            do throws(BLEError) {
                let end = try await run(&machine, file, storage)
                lease.perform(suspend)
                return end
            } catch {
                drain(&machine)
                lease.perform { [machine] in
                    if let (bytes, offset) = machine.unstored {
                        try? await storage.write(bytes, at: offset, of: file)
                    }
                    await storage.suspend(file)
                }
                throw error
            }
        }
    }

    private func run(
        _ machine: inout TransferReceiver, _ file: TransferFile, _ storage: any TransferStorage
    ) async throws(BLEError) -> End {
        var timer = ProgressTimer(link.clock)
        var reported = -1
        while true {
            if let packet = try poll({ machine.didReceive($0) }) { return .interrupted(packet) }
            timer.update(machine.progress)
            if machine.stored != reported {
                reported = machine.stored
                report(
                    TransferProgress(
                        transferredBytes: machine.stored, totalBytes: file.length, resumedBytes: machine.beginning))
            }
            switch machine.action() {
            case .send(let message): try await send(message)
            case .store(let bytes, let offset):
                let work = Stopwatch(link.clock)
                switch try await perform({ try await storage.write(bytes, at: offset, of: file) }) {
                case .success:
                    machine.didStore()
                    timer.exclude(work.elapsed)
                case .failure(let error): return await fail(error)
                }
            case .finish:
                switch try await perform({ try await storage.finish(file) }) {
                case .success:
                    machine.didFinish()
                case .failure(let error): return await fail(error)
                }
            case .discard: _ = try await perform { try await storage.discard(file) }
            case .wait:
                if let packet = try await wait(
                    &timer, timeouts.progress, { machine.didReceive($0) }, expire: { machine.didTimeOut() })
                {
                    return .interrupted(packet)
                }
            case .end(.finished): return .finished
            case .end(.refused(let refusal)): return .refused(refusal)
            case .end(.failed(let refusal)): return await fail(refusal)
            }
        }
    }

    /// Takes the data that had arrived before the link ended, so that it is not sent again.
    private func drain(_ machine: inout TransferReceiver) {
        while let bytes = link.inbox.poll() {
            guard let packet = try? TransferPacket(decoding: bytes), packet.token == token,
                case .data = packet.message
            else { continue }
            machine.didReceive(packet.message)
        }
    }
}
