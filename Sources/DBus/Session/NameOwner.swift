/// Who has a well-known name on the bus, by the bus's own word: the one whose signals, answers and calls are believed.
///
/// Any user of a bus may send a signal to a single connection, whatever that connection has asked to hear, and may give it any
/// path, interface and content. Only the sender is the bus's to write.
struct NameOwner {
    /// What a message is worth.
    enum Verdict: Equatable {
        /// From who has the name.
        case genuine
        /// The bus says that the name has another owner now; nil for none.
        case changed(String?)
        /// From anybody else, or nothing that concerns the name.
        case foreign
    }

    /// The bus itself, as a sender.
    static let bus = "org.freedesktop.DBus"

    let name: String
    /// The unique name of the connection that has the name; nil while there is none, and before the bus has told.
    private(set) var owner: String?

    init(of name: String) { self.name = name }

    /// The bus has answered who has the name.
    mutating func learn(_ owner: String?) { self.owner = owner }

    /// Judges a signal.
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

    /// Whether an answer may come from `sender`, of a call that was made when the name had the owner `asked`.
    func isGenuine(_ sender: MessageString, asked: String?) -> Bool {
        // An owner that gives its name away may still answer.
        for owner in [asked, owner] { if let owner, sender == owner { return true } }
        return false
    }
}
