/// The pending reads of one characteristic, and the notifications that arrive meanwhile.
///
/// bluetoothd reports a read value as a changed property, in the same way as a notified value. It sends the signal of a
/// read immediately before the answer (`chrc_read_cb` in its `src/gatt-client.c`): the last value before the answer is
/// the one that was read. Therefore the last value is held back until the next message shows whether it was read.
struct PendingReads {
    var count = 0
    /// Receives the notifications; nil while they are off.
    var deliver: Deliveries.Delivery?
    /// The last value, which may be that of a read, and its number.
    var held: (value: [UInt8], number: Int)?
    /// Whether a check of the held value is in progress.
    var isAsking = false

    /// Holds a new value, and returns the previously held value, which was a notification.
    mutating func hold(_ value: [UInt8], number: Int) -> [UInt8]? {
        defer { held = (value, number) }
        return held?.value
    }

    /// Completes a read, with nil for a failure. Returns the held value unless it is the value that was read.
    mutating func answered(_ value: [UInt8]?, offset: Int) -> [UInt8]? {
        guard let held = held.take()?.value else { return nil }
        // The property has the whole value, the answer only the part from the offset on.
        if let value, held.dropFirst(offset) == value[...] { return nil }
        return held
    }

    /// Returns the value with that number if it is still held, that is, if no answer of a read has followed it.
    mutating func letGo(_ number: Int) -> [UInt8]? {
        guard held?.number == number else { return nil }
        return held.take()?.value
    }
}

/// The pending reads of all characteristics, by path.
struct ReadTable {
    typealias Deliver = Deliveries.Delivery

    /// A value that turned out to be a notification, and its receiver.
    struct Notification {
        let value: [UInt8]
        let deliver: Deliver

        fileprivate init?(_ value: [UInt8]?, _ deliver: Deliver?) {
            guard let value, let deliver else { return nil }
            (self.value, self.deliver) = (value, deliver)
        }

        func send() { deliver(value) }
    }

    private var reads: [String: PendingReads] = [:]
    private var lastNumber = 0

    /// The number of pending reads of each characteristic.
    var counts: [String: Int] { reads.mapValues(\.count) }

    func isReading(_ path: String) -> Bool { reads[path] != nil }

    /// Adds a read of the characteristic at a path, whose notifications go to `deliver`. Returns whether its values
    /// must be passed to ``arrived(_:_:)`` instead from now on.
    mutating func begin(_ path: String, _ deliver: Deliver?) -> Bool {
        let isFirst = deliver != nil && reads[path] == nil
        if isFirst { reads[path] = PendingReads(deliver: deliver) }
        reads[path, default: PendingReads()].count += 1
        return isFirst
    }

    /// Handles a value that arrives while a read is pending. Returns an earlier one that was a notification, and
    /// whether the new one must be checked.
    mutating func arrived(_ value: [UInt8], _ path: String) -> (earlier: Notification?, needsCheck: Bool) {
        guard var read = reads[path] else { return (nil, false) }
        lastNumber += 1
        let earlier = Notification(read.hold(value, number: lastNumber), read.deliver)
        let needsCheck = !read.isAsking
        read.isAsking = true
        reads[path] = read
        return (earlier, needsCheck)
    }

    /// Returns the number of the held value to check. Returns nil, and ends the check, if no value is held.
    mutating func nextCheck(_ path: String) -> Int? {
        if let number = reads[path]?.held?.number { return number }
        reads[path]?.isAsking = false
        return nil
    }

    /// Returns the held value with that number if no answer has followed it, so that it is a notification.
    mutating func letGo(_ path: String, _ number: Int) -> Notification? {
        Notification(reads[path]?.letGo(number), reads[path]?.deliver)
    }

    /// Completes a read, with nil for a failure. Returns the held value if it was a notification, and, after the last
    /// read, the receiver of notifications from now on.
    mutating func end(
        _ path: String, _ value: [UInt8]?, offset: Int
    ) -> (notification: Notification?, deliver: Deliver?) {
        guard var read = reads[path] else { return (nil, nil) }
        let notification = Notification(read.answered(value, offset: offset), read.deliver)
        read.count -= 1
        reads[path] = read.count > 0 ? read : nil
        return (notification, read.count > 0 ? nil : read.deliver)
    }

    /// Removes a read that was not sent. If there is no other read, returns the held value, which cannot be a read
    /// value, and the receiver of notifications from now on.
    mutating func withdraw(_ path: String) -> (notification: Notification?, deliver: Deliver?) {
        guard var read = reads[path] else { return (nil, nil) }
        guard read.count > 1 else { return end(path, nil, offset: 0) }
        read.count -= 1
        reads[path] = read
        return (nil, nil)
    }

    /// Changes the receiver of notifications while reads are pending; nil for none.
    mutating func setDelivery(_ deliver: Deliver?, _ path: String) {
        reads[path]?.deliver = deliver
        if deliver == nil { reads[path]?.held = nil }
    }

    /// Forgets all reads, because bluetoothd is gone.
    mutating func removeAll() { reads = [:] }
}
