internal import Loop

/// An error of a call on the bus, or of the bus itself.
package struct DBusError: Error, Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        /// The call was answered with an error, whose name is `name`.
        case remote
        /// No answer arrived before the call's deadline.
        case timedOut
        /// The waiting task was cancelled. The call may still have taken effect.
        case cancelled
        /// The connection to the bus is closed, or was closed during the call.
        case disconnected
        /// The bus could not be reached.
        case unreachable
        /// The process can have no more file descriptors.
        case exhausted
        /// A message or an argument is invalid, or does not have the expected type.
        case malformed
    }

    package var kind: Kind
    /// The D-Bus error name, such as `org.bluez.Error.Failed`; empty if the error did not come over the bus.
    package var name: String
    package var message: String

    package init(_ kind: Kind, name: String = "", message: String) {
        self.kind = kind
        self.name = name
        self.message = message
    }

    /// Whether D-Bus allows the name of an error.
    package static func isName(_ name: String) -> Bool { MessageHeader.Field.errorName.allows(name) }

    package static let cancelled = DBusError(.cancelled, message: "the task was cancelled")

    /// The error of a loop or a socket that cannot be used.
    init(_ error: LoopError) {
        let kind: Kind =
            switch error {
            case .cancelled: .cancelled
            case .exhausted: .exhausted
            case .ended: .disconnected
            case .refused, .inUse: .unreachable
            }
        self.init(kind, message: "\(error)")
    }

    /// Returns an error for a served method to answer with.
    package static func remote(_ name: String, _ message: String) -> DBusError {
        DBusError(.remote, name: name, message: message)
    }

    /// Whether the called service has no owner on the bus, or lost it during the call.
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
