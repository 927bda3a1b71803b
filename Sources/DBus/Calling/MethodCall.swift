package import Loop

/// A method call to send.
package struct MethodCall: Sendable {
    package var destination: String
    package var path: String
    package var interface: String
    package var method: String
    package var arguments: [DBusValue]
    /// The file descriptors, to which `.unixFD` arguments refer by index. The bus duplicates them.
    package var descriptors: [FileDescriptor]
    /// How long the service takes to answer.
    package var pace = CallPace.prompt
    /// The object that the call concerns, so that the calls for one object do not take all places; nil for `path`.
    package var object: String?
    /// Called on the loop's thread when it is the call's turn to be sent. If it returns a reply, that is the answer,
    /// and nothing is sent.
    package var onTurn: (@Sendable () -> MethodReply?)?

    /// The message without its serial number, once ``prepare()`` has written it.
    private(set) var message: [UInt8]?

    package init(
        _ destination: String, _ path: String, _ interface: String, _ method: String, _ arguments: [DBusValue] = [],
        descriptors: [FileDescriptor] = []
    ) {
        self.destination = destination
        self.path = path
        self.interface = interface
        self.method = method
        self.arguments = arguments
        self.descriptors = descriptors
    }

    /// Writes the message once, for a call that is made repeatedly. The call's properties must not change afterwards.
    package mutating func prepare() { message = try? OutgoingMessage.call(self, serial: 0) }
}

extension MethodCall {
    /// Returns a call to the bus itself.
    package static func bus(_ method: String, _ arguments: [DBusValue] = []) -> MethodCall {
        MethodCall(NameOwner.bus, "/org/freedesktop/DBus", NameOwner.bus, method, arguments)
    }
}

/// The answer to a method call, received or sent.
package struct MethodReply: Sendable {
    package var values: [DBusValue]
    package var descriptors: [FileDescriptor]
    /// The signals to emit right before the answer of a served method. Nothing else from this connection is sent in
    /// between.
    package var signals: [OutgoingSignal]

    package init(
        _ values: [DBusValue] = [], descriptors: [FileDescriptor] = [], signals: [OutgoingSignal] = []
    ) {
        self.values = values
        self.descriptors = descriptors
        self.signals = signals
    }

    /// Returns the value at `index`, which the method is documented to return. Throws `.malformed` if it is missing.
    package func value(_ index: Int = 0) throws(DBusError) -> DBusValue {
        guard values.indices.contains(index) else {
            throw DBusError(.malformed, message: "the reply has \(values.count) values, expected at least \(index + 1)")
        }
        return values[index]
    }
}

/// A signal to emit.
package struct OutgoingSignal: Sendable {
    package var path: String
    package var interface: String
    package var name: String
    package var arguments: [DBusValue]

    package init(_ path: String, _ interface: String, _ name: String, _ arguments: [DBusValue]) {
        self.path = path
        self.interface = interface
        self.name = name
        self.arguments = arguments
    }
}
