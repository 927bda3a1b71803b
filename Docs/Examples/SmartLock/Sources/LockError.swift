public import BLEFeatures

/// What a lock says no to, and what it says that means nothing. Whatever else goes wrong is a `BLEError`.
public enum LockError: Error, Hashable, Sendable {
    /// The password is not the device's, or the lock has none.
    case wrongPassword
    /// The lock knows no network of that name.
    case unknownNetwork(String)
    /// The payload of the reply to a command is not one that the command has.
    case meaninglessReply(MessageCommand, [UInt8])
}

extension LockError: CustomStringConvertible {
    /// What is wrong, in words.
    public var description: String {
        switch self {
        case .wrongPassword: "the password is wrong, or the lock has none"
        case .unknownNetwork(let name): "the lock knows no network \(name)"
        case .meaninglessReply(let command, let payload): "the reply to \(command) means nothing: \(payload)"
        }
    }
}

extension Message {
    /// The payload as UTF-8.
    func text() throws(LockError) -> String {
        guard let text = String(validating: payload, as: UTF8.self) else { throw .meaninglessReply(command, payload) }
        return text
    }

    /// The payload as a truth: 00 or 01.
    func flag() throws(LockError) -> Bool {
        guard payload == [0] || payload == [1] else { throw .meaninglessReply(command, payload) }
        return payload == [1]
    }
}
