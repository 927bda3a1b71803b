internal import BLE
internal import Synchronization

/// The names of the files that centrals are sending, and the number of transfers of each central: those in progress,
/// and those that it has left incomplete, over any of its links.
final class TransferLeases: Sendable {
    private struct Incomplete {
        var count = 0
        /// The time since there were too many of them.
        var refused: Stopwatch?
    }

    private struct State {
        var names: Set<String> = []
        var counts: [DeviceID: Int] = [:]
        var total = 0
        var incomplete: [DeviceID: Incomplete] = [:]
    }

    private let state = Mutex(State())
    private let maximum: Int
    private let maximumOfCentral: Int

    /// How many more transfers than it has completed a central may leave incomplete before its openings are refused for
    /// a while, so that a central that opens transfers for ever leaves their names to others.
    static let maximumIncomplete = 8
    /// The number of centrals whose incomplete transfers are counted.
    private static let maximumCentrals = 256

    /// - Parameters:
    ///   - maximum: the maximum number of transfers.
    ///   - maximumOfCentral: the maximum number of transfers of one central.
    init(maximum: Int, maximumOfCentral: Int) {
        self.maximum = max(1, maximum)
        self.maximumOfCentral = max(1, maximumOfCentral)
    }

    /// Returns the right to transfer a file. Nil if a transfer sends one of the name, or if there are too many
    /// transfers, of all centrals or of this one.
    ///
    /// - Parameter isExclusive: whether the file is sent to this peripheral.
    func lease(_ name: String, isExclusive: Bool, for central: DeviceID) -> TransferLease? {
        let isFree = state.withLock { state in
            guard state.total < maximum, state.counts[central] ?? 0 < maximumOfCentral,
                !isExclusive || state.names.insert(name).inserted
            else { return false }
            state.total += 1
            state.counts[central, default: 0] += 1
            return true
        }
        guard isFree else { return nil }
        return TransferLease(name, isExclusive: isExclusive) {
            self.state.withLock { state in
                state.total -= 1
                let count = (state.counts[central] ?? 0) - 1
                state.counts[central] = count > 0 ? count : nil
                if isExclusive { state.names.remove(name) }
            }
        }
    }

    /// Records that a transfer of a central has ended. The end of its link is not its fault.
    func didEnd(_ end: TransferExchange.End, of central: DeviceID) {
        state.withLock { state in
            var incomplete = state.incomplete.removeValue(forKey: central) ?? Incomplete()
            switch end {
            case .finished: incomplete.count -= 1
            case .failed(.notFound, _): break
            case .interrupted, .refused, .failed: incomplete.count += 1
            }
            guard incomplete.count > 0 else { return }
            if state.incomplete.count >= Self.maximumCentrals,
                let least = state.incomplete.min(by: { $0.value.count < $1.value.count })
            {
                state.incomplete[least.key] = nil
            }
            state.incomplete[central] = incomplete
        }
    }

    /// Whether a central's openings are refused, for a duration after too many incomplete transfers.
    func isRefused(_ central: DeviceID, for duration: Duration, clock: any Clock<Duration>) -> Bool {
        state.withLock { state in
            guard let incomplete = state.incomplete[central], incomplete.count > Self.maximumIncomplete else {
                return false
            }
            let since = incomplete.refused ?? Stopwatch(clock)
            guard since.elapsed >= duration else {
                state.incomplete[central]?.refused = since
                return true
            }
            state.incomplete[central] = nil
            return false
        }
    }
}
