internal import BLE

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
        /// The fault's number.
        let fault: Int
        let effect: Effect

        var isLoss: Bool { if case .ignore = effect { true } else { false } }
        var isDuplicate: Bool { if case .duplicate = effect { true } else { false } }
    }

    private struct Fault {
        let number: Int
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
    /// The number of events that each fault has disturbed.
    private var counts: [Int: Int] = [:]
    private var lastNumber = 0
    /// The peripheral of each fault. Nil for all of the radio.
    private var owners: [Int: DeviceID?] = [:]
    /// The faults that were removed. What they have disturbed already goes on.
    private var removed: Set<Int> = []

    var isEmpty: Bool { faults.isEmpty }

    /// Returns the fault's number.
    mutating func add(
        _ effect: Effect, to event: SimulatedEvent, of peripheral: DeviceID?, when occurrence: SimulatedOccurrence
    ) -> Int {
        lastNumber += 1
        let fault = Fault(
            number: lastNumber, event: event, occurrence: occurrence, effect: effect,
            random: SeededGenerator(seed: occurrence.seed))
        if !fault.isOver { faults[peripheral, default: []].append(fault) }
        counts[lastNumber] = 0
        owners[lastNumber] = .some(peripheral)
        return lastNumber
    }

    mutating func remove(_ number: Int) {
        removed.insert(number)
        guard let owner = owners[number] else { return }
        faults[owner]?.removeAll { $0.number == number }
        if faults[owner]?.isEmpty == true { faults[owner] = nil }
    }

    /// Removes the faults of a peripheral; nil removes all. Those that are over count, too: they may still hold events.
    mutating func removeAll(of peripheral: DeviceID?) {
        for (number, owner) in owners where peripheral == nil || owner == peripheral { removed.insert(number) }
        if peripheral == nil { faults = [:] } else { faults[peripheral] = nil }
    }

    /// Whether a fault can disturb further events.
    func isActive(_ number: Int) -> Bool {
        owners[number].flatMap { faults[$0] }?.contains { $0.number == number } ?? false
    }

    func isRemoved(_ number: Int) -> Bool { removed.contains(number) }

    /// The number of events that a fault has disturbed.
    func count(of number: Int) -> Int { counts[number] ?? 0 }

    /// Returns what happens to an event, in the order in which the faults were added, those of the radio last.
    ///
    /// - Parameter isOf: whether the event is one of the characteristic.
    mutating func disturbances(
        of kind: SimulatedEvent.Kind, at peripheral: DeviceID?, _ isOf: (CharacteristicKey) -> Bool
    ) -> [Disturbance] {
        var all: [Disturbance] = []
        for place in peripheral == nil ? [nil] : [peripheral, nil] {
            guard faults[place] != nil else { continue }
            for index in faults[place]!.indices where faults[place]![index].event.kind == kind {
                guard faults[place]![index].event.characteristic.map(isOf) ?? true, faults[place]![index].takes()
                else { continue }
                let number = faults[place]![index].number
                counts[number, default: 0] += 1
                all.append(Disturbance(fault: number, effect: faults[place]![index].chosen()))
            }
            faults[place]?.removeAll(where: \.isOver)
            if faults[place]?.isEmpty == true { faults[place] = nil }
        }
        return all
    }
}
