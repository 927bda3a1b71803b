/// How a session refuses calls: the words of its errors, and callers that it does not serve. By default, it serves
/// every caller, with words of its own.
package struct CallRefusals: Sendable {
    /// Why a call is refused that no served object takes.
    package enum Reason: Sendable {
        /// There is no such method, or it takes other types.
        case method(takes: String?)
        /// The object does not have the interface, or there is no object.
        case interface(String, isObject: Bool)
        case property(String, isSet: Bool)
        /// The property cannot be set.
        case readOnlyProperty(String)
    }

    /// What is refused.
    package struct Call: Sendable {
        package let sender: String
        package let path: String
        /// Empty if the call names none.
        package let interface: String
        package let method: String
        /// The types of the arguments.
        package let signature: String

        init(_ message: IncomingMessage) {
            (sender, path) = (message.sender.string, message.path.string)
            (interface, method) = (message.interface.string, message.member.string)
            signature = MessageString(message.body.types).string
        }
    }

    /// Returns what answers all calls of a caller, by its unique name; nil to serve it. Called on the session's loop.
    let denial: (@Sendable (_ sender: String) -> (@Sendable (Call) async -> DBusError)?)?
    /// Returns the error of a call. It can ask whether there is an object at the call's path, or
    /// below it.
    let error: @Sendable (_ reason: Reason, _ call: Call, _ isObject: () -> Bool) -> DBusError

    package init(
        denial: @escaping @Sendable (_ sender: String) -> (@Sendable (Call) async -> DBusError)?,
        error: @escaping @Sendable (_ reason: Reason, _ call: Call, _ isObject: () -> Bool) -> DBusError
    ) {
        (self.denial, self.error) = (denial, error)
    }

    package init() {
        denial = nil
        // The texts contain nothing from the call, which may be long.
        error = { reason, _, _ in
            let (name, text) =
                switch reason {
                case .method(nil): ("UnknownMethod", "there is no such method here")
                case .method(let signature?): ("InvalidArgs", "the method takes (\(signature))")
                case .interface: ("UnknownInterface", "there is no such interface here")
                case .property: ("UnknownProperty", "there is no such property here")
                case .readOnlyProperty: ("PropertyReadOnly", "the property cannot be set")
                }
            return .remote("org.freedesktop.DBus.Error.\(name)", text)
        }
    }
}
