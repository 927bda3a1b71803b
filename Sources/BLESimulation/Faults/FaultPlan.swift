internal import BLE

/// The faults that are to happen. Decides for each event what happens to it.
///
/// A decision takes time proportional to the faults of that peripheral and of the whole radio.
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
        var random: RandomNumbers
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
    /// The faults that were removed before they were over. What they have disturbed already goes on.
    private var removed: Set<Int> = []

    var isEmpty: Bool { faults.isEmpty }

    /// Returns the fault's number.
    mutating func add(
        _ effect: Effect, to event: SimulatedEvent, of peripheral: DeviceID?, when occurrence: SimulatedOccurrence
    ) -> Int {
        lastNumber += 1
        let fault = Fault(
            number: lastNumber, event: event, occurrence: occurrence, effect: effect,
            random: RandomNumbers(seed: occurrence.seed))
        if !fault.isOver { faults[peripheral, default: []].append(fault) }
        counts[lastNumber] = 0
        return lastNumber
    }

    mutating func remove(_ number: Int) {
        removed.insert(number)
        for peripheral in Array(faults.keys) {
            faults[peripheral]?.removeAll { $0.number == number }
            if faults[peripheral]?.isEmpty == true { faults[peripheral] = nil }
        }
    }

    /// Removes the faults of a peripheral; nil removes all.
    mutating func removeAll(of peripheral: DeviceID?) {
        for (place, all) in faults where peripheral == nil || place == peripheral {
            removed.formUnion(all.map(\.number))
            faults[place] = nil
        }
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

/// Random numbers that are the same for the same seed (SplitMix64).
struct RandomNumbers: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
