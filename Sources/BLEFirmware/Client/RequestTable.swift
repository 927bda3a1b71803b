/// The requests that wait for a response, by sequence number.
struct RequestTable: Sendable {
    private struct Entry {
        let id: Int
        let operation: SMPOperation
        let command: SMPCommand
    }

    private var entries: [UInt8: Entry] = [:]
    private var last: UInt8 = .max

    /// Whether no request waits.
    var isEmpty: Bool { entries.isEmpty }

    /// Adds a request, and returns its sequence number. Nil if 256 requests wait already.
    ///
    /// Numbers are used in turn, so that a late response to an abandoned request is not taken for that of another one.
    mutating func add(_ id: Int, _ operation: SMPOperation, _ command: SMPCommand) -> UInt8? {
        guard entries.count <= Int(UInt8.max) else { return nil }
        repeat { last &+= 1 } while entries[last] != nil
        entries[last] = Entry(id: id, operation: operation, command: command)
        return last
    }

    /// Removes and returns the request that a response belongs to. Nil if there is none.
    mutating func match(_ header: SMPHeader) -> Int? {
        guard let entry = entries[header.sequence], entry.operation.response == header.operation,
            entry.command == header.command
        else { return nil }
        entries[header.sequence] = nil
        return entry.id
    }

    /// Removes a request that is no longer waited for.
    mutating func remove(sequence: UInt8, id: Int) {
        if entries[sequence]?.id == id { entries[sequence] = nil }
    }
}
