internal import BLE
internal import Synchronization

/// The faults that are to happen. Decides for each event what happens to it.
///
/// A decision looks at the faults of that peripheral and of the whole radio, not at those of other peripherals.
struct FaultPlan {
    /// What happens to an event.
    enum Effect: Sendable {
        case delay(Duration)
        case fail(BLEError)
        /// It waits until the fault is released.
        case hold
        /// It never happens, and has no answer.
        case ignore
        /// It happens twice.
        case duplicate
        case dropLink(isBefore: Bool)
        /// Something else each time.
        case random
    }

    /// What one fault does to an event.
    struct Disturbance {
        let fault: FaultRecord
        let effect: Effect

        var isLoss: Bool { if case .ignore = effect { true } else { false } }
        var isDuplicate: Bool { if case .duplicate = effect { true } else { false } }
    }

    private struct Fault {
        let record: FaultRecord
        let event: SimulatedEvent
        let occurrence: SimulatedOccurrence
        let effect: Effect
        var random: SeededGenerator
        /// The number of matching events so far.
        var seen = 0

        /// Whether no later event can be disturbed.
        var isOver: Bool {
            switch occurrence.kind {
            case .first(let count), .only(let count): seen >= count
            case .probability, .condition: false
            }
        }

        /// Decides about a matching event.
        mutating func takes() -> Bool {
            seen += 1
            if isOver { record.end() }
            return switch occurrence.kind {
            case .first(let count): seen <= count
            case .only(let number): seen == number
            case .probability(let probability): Double.random(in: 0..<1, using: &random) < probability
            case .condition(let holds): holds()
            }
        }

        mutating func chosen() -> Effect {
            guard case .random = effect else { return effect }
            return switch Int.random(in: 0..<4, using: &random) {
            case 0: .delay(.milliseconds(Int.random(in: 10...5000, using: &random)))
            case 1: .dropLink(isBefore: true)
            case 2: .dropLink(isBefore: false)
            default: .fail(event.usualError)
            }
        }
    }

    /// By peripheral. Nil for all of the radio.
    private var faults: [DeviceID?: [Fault]] = [:]
    private var lastNumber = 0
    /// The number of the last fault when all faults of a peripheral were removed; nil for those of the radio.
    private var removals: [DeviceID?: Int] = [:]

    var isEmpty: Bool { faults.isEmpty }

    mutating func add(
        _ effect: Effect, to event: SimulatedEvent, of peripheral: DeviceID?, when occurrence: SimulatedOccurrence
    ) -> FaultRecord {
        lastNumber += 1
        let record = FaultRecord(number: lastNumber, peripheral: peripheral)
        let fault = Fault(
            record: record, event: event, occurrence: occurrence, effect: effect,
            random: SeededGenerator(seed: occurrence.seed))
        if fault.isOver { record.end() } else { faults[peripheral, default: []].append(fault) }
        return record
    }

    mutating func remove(_ record: FaultRecord) {
        record.remove()
        faults[record.peripheral]?.removeAll { $0.record === record }
        if faults[record.peripheral]?.isEmpty == true { faults[record.peripheral] = nil }
    }

    /// Removes the faults of a peripheral; nil removes all. Those that are over count, too: they may still hold events.
    mutating func removeAll(of peripheral: DeviceID?) {
        for (owner, all) in faults where peripheral == nil || owner == peripheral {
            for fault in all { fault.record.remove() }
        }
        if peripheral == nil { (faults, removals) = ([:], [:]) } else { faults[peripheral] = nil }
        removals[peripheral] = lastNumber
    }

    /// Forgets a peripheral that is gone, with its faults.
    mutating func forget(_ peripheral: DeviceID) {
        removeAll(of: peripheral)
        removals[peripheral] = nil
    }

    /// Whether a fault was removed. What it has disturbed already goes on.
    func isRemoved(_ record: FaultRecord) -> Bool {
        record.isRemoved || record.number <= removals[nil, default: 0]
            || record.number <= removals[record.peripheral, default: 0]
    }

    /// Returns what happens to an event, in the order in which the faults were added, those of the radio last.
    ///
    /// - Parameters:
    ///   - isFrom: whether the event is one of the central.
    ///   - isOf: whether the event is one of the characteristic.
    mutating func disturbances(
        of kind: SimulatedEvent.Kind, at peripheral: DeviceID?, isFrom: (DeviceID) -> Bool = { _ in false },
        _ isOf: (CharacteristicKey) -> Bool
    ) -> [Disturbance] {
        var all: [Disturbance] = []
        for place in peripheral == nil ? [nil] : [peripheral, nil] {
            guard faults[place] != nil else { continue }
            for index in faults[place]!.indices where faults[place]![index].event.kind == kind {
                let event = faults[place]![index].event
                guard event.characteristic.map(isOf) ?? true, event.central.map(isFrom) ?? true,
                    faults[place]![index].takes()
                else { continue }
                let record = faults[place]![index].record
                record.countEvent()
                all.append(Disturbance(fault: record, effect: faults[place]![index].chosen()))
            }
            faults[place]?.removeAll(where: \.isOver)
            if faults[place]?.isEmpty == true { faults[place] = nil }
        }
        return all
    }
}

/// What a test knows of a fault. It lasts as long as the test, or an event, refers to it.
final class FaultRecord: Sendable {
    private struct State {
        var count = 0
        var isActive = true
        var isRemoved = false
    }

    let number: Int
    /// Nil for a fault of all of the radio.
    let peripheral: DeviceID?
    private let state = Mutex(State())

    init(number: Int, peripheral: DeviceID?) { (self.number, self.peripheral) = (number, peripheral) }

    /// The number of events that it has disturbed.
    var count: Int { state.withLock { $0.count } }
    /// Whether it can disturb further events.
    var isActive: Bool { state.withLock { $0.isActive } }
    var isRemoved: Bool { state.withLock { $0.isRemoved } }

    func countEvent() { state.withLock { $0.count += 1 } }
    func end() { state.withLock { $0.isActive = false } }
    func remove() { state.withLock { ($0.isActive, $0.isRemoved) = (false, true) } }
}

extension FaultPlan.Effect: CustomStringConvertible {
    /// As in the names of ``SimulatedDisturbance``.
    var description: String {
        switch self {
        case .delay(let duration): "delay(\(duration))"
        case .fail(let error): "fail(\(error.code))"
        case .hold: "hold"
        case .ignore: "ignore"
        case .duplicate: "duplicate"
        case .dropLink(let isBefore): isBefore ? "dropLink(before)" : "dropLink(after)"
        case .random: "random"
        }
    }
}
