internal import Waiting

/// How long the service takes to answer a call.
package enum CallPace: Sendable {
    /// The service answers immediately, by itself.
    case prompt
    /// The service asks another party first, which may take seconds.
    case slow
    /// The service may take half a minute or more.
    case long
}

/// Decides when each call is sent, so that the bus refuses no call.
///
/// A dbus-daemon refuses the calls of a connection while 128 of them wait for their answers
/// (`max_replies_per_connection`), and counts each call until it is answered, even if its caller has given up. The gate
/// counts in the same way. Slow and long calls can have only some of the places, and so can the slow calls of one
/// object, so that unanswered calls do not block others.
struct CallGate {
    typealias Ticket = Int

    /// The maximum number of unanswered calls.
    private(set) var capacity = 120
    /// The maximum number of slow, long and lost calls among them.
    var slowCapacity: Int { capacity - 16 }
    /// The maximum number of long calls among them.
    static let longCapacity = 32
    /// The maximum number of slow calls for one object.
    static let objectCapacity = 16

    private struct Call {
        let pace: CallPace
        let object: String
        var isLost = false
    }

    /// The waiting calls of one pace: in order for each object, with the objects taking turns.
    private struct Line {
        var queues: [String: Fifo<Ticket>] = [:]
        /// The objects with a queue that may have a turn. An object without a free place is not among them.
        var objects = Fifo<String>()

        var isEmpty: Bool { queues.isEmpty }
    }

    private var lastTicket = 0
    /// The calls that were sent and are not answered yet.
    private var sent: [Ticket: Call] = [:]
    private var counts: [CallPace: Int] = [:]
    /// The number of those that will never be answered.
    private(set) var lostCount = 0
    /// The number of slow calls among them, by object.
    private var objectCounts: [String: Int] = [:]
    /// The calls that wait for their turn, without those that have left.
    private var waiting: [Ticket: Call] = [:]
    private var lines: [CallPace: Line] = [:]

    /// The number of calls that were sent and are not answered yet.
    var sentCount: Int { sent.count }

    /// Leaves room for the calls of others on the same connection, which the bus counts, too.
    mutating func share() { capacity = 60 }

    /// Adds a call to the queue of its object.
    mutating func join(_ pace: CallPace, object: String) -> Ticket {
        lastTicket += 1
        waiting[lastTicket] = Call(pace: pace, object: object)
        var line = lines[pace] ?? Line()
        if line.queues[object] == nil { line.objects.append(object) }
        line.queues[object, default: Fifo()].append(lastTicket)
        lines[pace] = line
        return lastTicket
    }

    /// Adds a call, and counts it as sent if there is a place for it and no other call waits. Returns whether the call
    /// has its turn.
    mutating func enter(_ pace: CallPace, object: String) -> (ticket: Ticket, hasTurn: Bool) {
        let mayTake = pace != .slow || objectCounts[object] ?? 0 < Self.objectCapacity
        guard lines[pace] == nil, mayTake, hasPlace(for: pace) else { return (join(pace, object: object), false) }
        lastTicket += 1
        take(lastTicket, Call(pace: pace, object: object))
        return (lastTicket, true)
    }

    private mutating func take(_ ticket: Ticket, _ call: Call) {
        sent[ticket] = call
        counts[call.pace, default: 0] += 1
        if call.pace == .slow { objectCounts[call.object, default: 0] += 1 }
    }

    /// Removes a call whose caller no longer waits. A call that was sent keeps its place.
    mutating func leave(_ ticket: Ticket) { waiting[ticket] = nil }

    /// Frees the place of a call that was answered or never sent.
    mutating func answered(_ ticket: Ticket) {
        guard let call = sent.removeValue(forKey: ticket) else { return }
        leavePlace(call)
    }

    /// Frees the places of a call that will never be answered among the long calls and those of its object. It keeps
    /// its place among all calls, because the bus still counts it.
    mutating func lose(_ ticket: Ticket) {
        guard let call = sent[ticket], !call.isLost else { return }
        leavePlace(call)
        sent[ticket]?.isLost = true
        lostCount += 1
    }

    private mutating func leavePlace(_ call: Call) {
        guard !call.isLost else {
            lostCount -= 1
            return
        }
        counts[call.pace]! -= 1
        guard call.pace == .slow else { return }
        let count = objectCounts[call.object]! - 1
        objectCounts[call.object] = count > 0 ? count : nil
        if count == Self.objectCapacity - 1, lines[.slow]?.queues[call.object] != nil {
            lines[.slow]?.objects.append(call.object)
        }
    }

    /// Returns the next call to send, if there is a place for it, and counts it as sent.
    mutating func next() -> Ticket? {
        if lines.isEmpty { return nil }
        for pace in [CallPace.prompt, .slow, .long] where hasPlace(for: pace) {
            if let ticket = next(pace) { return ticket }
        }
        return nil
    }

    private func hasPlace(for pace: CallPace) -> Bool {
        guard sent.count < capacity else { return false }
        let (slow, long) = (counts[.slow] ?? 0, counts[.long] ?? 0)
        let hasSlowPlace = slow + long + lostCount < slowCapacity
        return switch pace {
        case .prompt: true
        case .slow: hasSlowPlace
        case .long: long < Self.longCapacity && hasSlowPlace
        }
    }

    private mutating func next(_ pace: CallPace) -> Ticket? {
        guard var line = lines.removeValue(forKey: pace) else { return nil }
        defer { if !line.isEmpty { lines[pace] = line } }
        while let object = line.objects.popFirst() {
            // The object returns when one of its calls is answered.
            if pace == .slow, objectCounts[object] ?? 0 >= Self.objectCapacity { continue }
            guard var queue = line.queues.removeValue(forKey: object) else { continue }
            var found: (ticket: Ticket, call: Call)?
            while found == nil, let ticket = queue.popFirst() {
                if let call = waiting.removeValue(forKey: ticket) { found = (ticket, call) }
            }
            if !queue.isEmpty {
                line.queues[object] = queue
                line.objects.append(object)
            }
            guard let found else { continue }
            take(found.ticket, found.call)
            return found.ticket
        }
        return nil
    }
}
