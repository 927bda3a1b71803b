/// The owner of a well-known name, as reported by the bus: the only sender whose signals, answers and calls are
/// accepted.
///
/// Any user of a bus can send a signal to a single connection, whether or not it has subscribed to it, with any path,
/// interface and content. Only the sender is set by the bus.
struct NameOwner {
    /// The origin of a message.
    enum Verdict: Equatable {
        /// From the owner of the name.
        case genuine
        /// The bus reports a new owner of the name; nil for none.
        case changed(String?)
        /// From another sender, or unrelated to the name.
        case foreign
    }

    /// The name of the bus itself.
    static let bus = "org.freedesktop.DBus"

    let name: String
    /// The unique name of the connection that owns the name; nil if there is none, and before the bus has reported one.
    private(set) var owner: String?

    init(of name: String) { self.name = name }

    /// Records the owner that the bus has returned.
    mutating func learn(_ owner: String?) { self.owner = owner }

    /// Determines the origin of a signal.
    mutating func judge(_ signal: IncomingMessage) -> Verdict {
        if let owner, signal.sender == owner { return .genuine }
        guard signal.sender == Self.bus, signal.member == "NameOwnerChanged", signal.interface == Self.bus else {
            return .foreign
        }
        var body = signal.body
        guard let changed = try? body.text(), changed == name, (try? body.text()) != nil, let new = try? body.string()
        else { return .foreign }
        owner = new.isEmpty ? nil : new
        return .changed(owner)
    }

    /// Whether `sender` may answer a call that was made while the name had the owner `asked`.
    func isGenuine(_ sender: MessageString, asked: String?) -> Bool {
        // A former owner may still answer.
        for owner in [asked, owner] { if let owner, sender == owner { return true } }
        return false
    }
}
