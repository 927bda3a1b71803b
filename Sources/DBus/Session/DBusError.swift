/// Why a call on the bus, or the bus itself, failed.
package struct DBusError: Error, Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        /// The other side answered with an error; `name` is its error name.
        case remote
        /// No answer came within the call's deadline.
        case timedOut
        /// The waiting task was cancelled. The call may still have taken effect.
        case cancelled
        /// The connection to the bus is closed, or closed while the call was waiting.
        case disconnected
        /// The bus could not be reached at all.
        case unreachable
        /// A message had another signature than expected.
        case malformed
    }

    package var kind: Kind
    /// The D-Bus error name, such as `org.bluez.Error.Failed`; empty where the error did not come over the bus.
    package var name: String
    package var message: String

    package init(_ kind: Kind, name: String = "", message: String) {
        self.kind = kind
        self.name = name
        self.message = message
    }

    static let cancelled = DBusError(.cancelled, message: "the task was cancelled")

    /// An error that a served method answers with.
    package static func remote(_ name: String, _ message: String) -> DBusError {
        DBusError(.remote, name: name, message: message)
    }

    /// True when the called service has no owner on the bus, or lost it while the call was waiting.
    package var isServiceGone: Bool {
        kind == .remote
            && [
                "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner",
                "org.freedesktop.DBus.Error.NoReply",
            ].contains(name)
    }
}

extension DBusError: CustomStringConvertible {
    package var description: String {
        name.isEmpty ? "\(kind): \(message)" : "\(name): \(message)"
    }
}
