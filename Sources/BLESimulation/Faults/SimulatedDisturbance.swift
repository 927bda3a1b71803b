public import BLE

/// What a test can disturb: one peripheral of a simulated radio, or the whole radio with all its peripherals.
///
/// ```swift
/// await device.delay(.read(of: .batteryLevel), by: .seconds(2))
/// await device.fail(.subscribe, .next(2), with: .insufficientResources)
/// await device.ignore(.write.from(central))
/// await radio.dropLink(after: .connect, .probability(0.1, seed: 7))
/// let discovery = await device.hold(.discover)
/// …
/// await discovery.disturbed()   // a central discovers the services
/// await discovery.release()
/// ```
///
/// Faults stay until they are over, such as `.next(2)`, or removed. Several faults of one event add up, in the order in
/// which they were added.
public protocol SimulatedDisturbance: Sendable {
    /// The radio, and the peripheral; nil for the whole radio.
    var disturbed: (radio: SimulatedRadio, peripheral: Peripheral.ID?) { get }
}

extension SimulatedPeripheral: SimulatedDisturbance {
    /// The peripheral.
    public var disturbed: (radio: SimulatedRadio, peripheral: Peripheral.ID?) { (radio, id) }
}

extension SimulatedRadio: SimulatedDisturbance {
    /// The whole radio.
    public nonisolated var disturbed: (radio: SimulatedRadio, peripheral: Peripheral.ID?) { (self, nil) }
}

extension SimulatedDisturbance {
    private func add(
        _ effect: FaultPlan.Effect, _ event: SimulatedEvent, _ occurrence: SimulatedOccurrence
    ) async -> SimulatedFault {
        let (radio, peripheral) = disturbed
        return SimulatedFault(radio: radio, record: await radio.add(effect, to: event, of: peripheral, occurrence))
    }

    /// Delays events by a duration on the radio's clock.
    ///
    /// Later values of a peripheral wait for a delayed one: a radio does not change their order. While an advertisement
    /// is delayed or held, the peripheral sends no other.
    @discardableResult
    public func delay(
        _ event: SimulatedEvent, _ occurrence: SimulatedOccurrence = .always, by duration: Duration
    ) async -> SimulatedFault { await add(.delay(duration), event, occurrence) }

    /// Has events fail. What has no answer is lost instead: a value, an advertisement, a write without response.
    ///
    /// - Parameter error: what the central or the host gets. By default, what is usual for the event.
    @discardableResult
    public func fail(
        _ event: SimulatedEvent, _ occurrence: SimulatedOccurrence = .always, with error: BLEError? = nil
    ) async -> SimulatedFault { await add(.fail(error ?? event.usualError), event, occurrence) }

    /// Has requests fail with an error of the Attribute Protocol.
    @discardableResult
    public func fail(
        _ event: SimulatedEvent, _ occurrence: SimulatedOccurrence = .always, with error: ATTError
    ) async -> SimulatedFault { await fail(event, occurrence, with: BLEError(error)) }

    /// Holds events until the fault is released.
    @discardableResult
    public func hold(
        _ event: SimulatedEvent, _ occurrence: SimulatedOccurrence = .always
    ) async -> SimulatedFault { await add(.hold, event, occurrence) }

    /// Has events get lost: a request has no effect and no answer, a value or an advertisement does not arrive. A call
    /// that needs no peripheral, such as a scan, fails with `timedOut` after 25 s.
    @discardableResult
    public func ignore(
        _ event: SimulatedEvent, _ occurrence: SimulatedOccurrence = .always
    ) async -> SimulatedFault { await add(.ignore, event, occurrence) }

    /// Has values and advertisements arrive twice. Has no effect on other events.
    @discardableResult
    public func duplicate(
        _ event: SimulatedEvent, _ occurrence: SimulatedOccurrence = .always
    ) async -> SimulatedFault { await add(.duplicate, event, occurrence) }

    /// Drops the link before events of a link happen, as if out of range. They fail with `disconnected`,
    /// and those without a link with `failed`.
    @discardableResult
    public func dropLink(
        before event: SimulatedEvent, _ occurrence: SimulatedOccurrence = .always
    ) async -> SimulatedFault { await add(.dropLink(isBefore: true), event, occurrence) }

    /// Drops the link after events of a link have happened, as if out of range. The answer to a request is lost with
    /// it.
    @discardableResult
    public func dropLink(
        after event: SimulatedEvent, _ occurrence: SimulatedOccurrence = .always
    ) async -> SimulatedFault { await add(.dropLink(isBefore: false), event, occurrence) }

    /// Disturbs events at random: a delay of up to 5 s, a failure, or the loss of the link before or after.
    ///
    /// - Parameters:
    ///   - probabilities: how probable it is that an event is disturbed, 0 to 1.
    ///   - seed: the same seed has the same faults at the same events, as long as the program does the same.
    /// - Returns: the fault of each event.
    @discardableResult
    public func disturb(
        _ probabilities: [SimulatedEvent: Double], seed: UInt64
    ) async -> [SimulatedEvent: SimulatedFault] {
        func name(_ event: SimulatedEvent) -> String {
            "\(event.kind) \(event.characteristic, default: "")\(event.central, default: "")"
        }
        var faults: [SimulatedEvent: SimulatedFault] = [:]
        // In an order that is not that of a dictionary, and each with numbers of its own.
        for (event, probability) in probabilities.sorted(by: { name($0.key) < name($1.key) }) {
            let own = name(event).utf8.reduce(seed) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
            faults[event] = await add(.random, event, .probability(probability, seed: own))
        }
        return faults
    }

    /// Removes all faults of the peripheral; of a radio, those of its peripherals, too. What they hold or delay goes
    /// on.
    public func removeFaults() async {
        let (radio, peripheral) = disturbed
        await radio.removeFaults(of: peripheral)
    }
}

/// A fault that was added to a simulated radio.
public struct SimulatedFault: Sendable {
    let radio: SimulatedRadio
    let record: FaultRecord

    /// The number of events that it has disturbed.
    public var count: Int { get async { record.count } }

    /// Waits until it has disturbed that many events. Also returns when it is over or removed, and if the task is
    /// cancelled.
    public func disturbed(_ count: Int = 1) async { await radio.disturbed(record, count) }

    /// Removes it, and lets the events happen that it holds or delays, in their order. What is lost stays lost.
    public func release() async { await radio.release(record) }
}
