/// The objects of the devices that send advertisements, and senders without an object, so that most advertisements need
/// no text. bluetoothd has no objects for senders that its filter excludes.
struct SenderTable {
    enum Found: Equatable {
        /// The path of the object. It may be that of another device by now.
        case object(String)
        /// There is no object.
        case unknown
    }

    private var paths: [ReceivedAdvertisement.Sender: String] = [:]
    private var unknown: Set<ReceivedAdvertisement.Sender> = []
    /// The number of changes of identities when the senders without an object were looked for.
    private var changes = 0

    /// The maximum number of senders of either kind. More are looked up again.
    static let capacity = 4096

    /// Returns what is known of a sender. Nil if it has to be looked up.
    ///
    /// - Parameter changes: the number of changes of identities so far. After one, any sender can have an object.
    mutating func find(_ sender: ReceivedAdvertisement.Sender, _ changes: Int) -> Found? {
        if let path = paths[sender] { return .object(path) }
        if changes != self.changes {
            self.changes = changes
            unknown.removeAll(keepingCapacity: true)
        }
        return unknown.contains(sender) ? .unknown : nil
    }

    /// Records the path of a sender's object.
    mutating func set(_ path: String, _ sender: ReceivedAdvertisement.Sender) {
        if paths.count >= Self.capacity { paths.removeAll(keepingCapacity: true) }
        paths[sender] = path
    }

    /// Records that a sender has no object, after a number of changes of identities.
    mutating func setUnknown(_ sender: ReceivedAdvertisement.Sender, _ changes: Int) {
        paths[sender] = nil
        guard changes == self.changes else { return }
        if unknown.count >= Self.capacity { unknown.removeAll(keepingCapacity: true) }
        unknown.insert(sender)
    }

    /// The number of senders that are kept.
    var count: Int { paths.count + unknown.count }
}
