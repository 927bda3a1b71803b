/// How long the service takes to answer a call.
package enum CallPace: Sendable {
    /// It answers by itself, at once.
    case prompt
    /// It asks something else first, which may take seconds.
    case slow
    /// It tries for as long as half a minute and more.
    case long
}

/// Whose turn it is to be sent, so that no call of a connection is refused.
///
/// A dbus-daemon refuses the calls of a connection while 128 of them wait for their answers (`max_replies_per_connection`), and
/// counts each until it is answered, whoever has given up on it. So do these places. Calls that take long have only some of
/// them, and so has each object: what the service does not answer does not keep it from being told other things.
struct CallGate {
    typealias Ticket = Int

    /// How many calls may wait for an answer.
    static let capacity = 120
    /// How many of them may be slow or long.
    static let slowCapacity = 104
    /// How many of them may be long.
    static let longCapacity = 32
    /// How many slow ones there may be of one object.
    static let objectCapacity = 16

    private struct Call {
        let pace: CallPace
        let object: String
    }

    /// The calls of one pace that wait for their turn: in order for each object, and one object after the other.
    private struct Line {
        var queues: [String: Fifo<Ticket>] = [:]
        /// The objects with a queue whose turn may come. One that has all its places waits outside.
        var objects = Fifo<String>()

        var isEmpty: Bool { queues.isEmpty }
    }

    private var lastTicket = 0
    /// Those that are under way.
    private var sent: [Ticket: Call] = [:]
    private var counts: [CallPace: Int] = [:]
    /// How many slow ones are under way, by their objects.
    private var objectCounts: [String: Int] = [:]
    /// Those that wait; without those that have left since.
    private var waiting: [Ticket: Call] = [:]
    private var lines: [CallPace: Line] = [:]

    /// How many calls are under way.
    var sentCount: Int { sent.count }

    /// Queues up.
    mutating func join(_ pace: CallPace, object: String) -> Ticket {
        lastTicket += 1
        waiting[lastTicket] = Call(pace: pace, object: object)
        var line = lines[pace] ?? Line()
        if line.queues[object] == nil { line.objects.append(object) }
        line.queues[object, default: Fifo()].append(lastTicket)
        lines[pace] = line
        return lastTicket
    }

    /// Nobody waits for the call any longer. One that is under way keeps its place.
    mutating func leave(_ ticket: Ticket) { waiting[ticket] = nil }

    /// The call was answered, or never sent: its place is free.
    mutating func answered(_ ticket: Ticket) {
        guard let call = sent.removeValue(forKey: ticket) else { return }
        counts[call.pace]! -= 1
        guard call.pace == .slow else { return }
        let count = objectCounts[call.object]! - 1
        objectCounts[call.object] = count > 0 ? count : nil
        if count == Self.objectCapacity - 1, lines[.slow]?.queues[call.object] != nil {
            lines[.slow]?.objects.append(call.object)
        }
    }

    /// The call whose turn it is, if there is a place. It is under way from now on.
    mutating func next() -> Ticket? {
        for pace in [CallPace.prompt, .slow, .long] where hasPlace(for: pace) {
            if let ticket = next(pace) { return ticket }
        }
        return nil
    }

    private func hasPlace(for pace: CallPace) -> Bool {
        guard sent.count < Self.capacity else { return false }
        let (slow, long) = (counts[.slow] ?? 0, counts[.long] ?? 0)
        return switch pace {
        case .prompt: true
        case .slow: slow + long < Self.slowCapacity
        case .long: long < Self.longCapacity && slow + long < Self.slowCapacity
        }
    }

    private mutating func next(_ pace: CallPace) -> Ticket? {
        guard var line = lines.removeValue(forKey: pace) else { return nil }
        defer { if !line.isEmpty { lines[pace] = line } }
        while let object = line.objects.popFirst() {
            // It comes back when one of its calls is answered.
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
            sent[found.ticket] = found.call
            counts[pace, default: 0] += 1
            if pace == .slow { objectCounts[object, default: 0] += 1 }
            return found.ticket
        }
        return nil
    }
}

/// First in, first out, each in constant time.
struct Fifo<Element> {
    private var elements: [Element?] = []
    private var head = 0

    var isEmpty: Bool { head == elements.count }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func popFirst() -> Element? {
        guard head < elements.count else { return nil }
        defer {
            elements[head] = nil
            head += 1
            // Half of them at once, so that it is rarely done.
            if head > 16, head * 2 > elements.count {
                elements.removeFirst(head)
                head = 0
            }
        }
        return elements[head]
    }
}
