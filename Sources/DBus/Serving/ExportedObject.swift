/// A call from another process to an object that this process serves.
package struct IncomingCall: Sendable {
    /// The caller's unique bus name.
    package let sender: String
    package let path: String
    package let method: String
    package let arguments: [DBusValue]
}

/// One interface of an object that this process serves on the bus.
///
/// `Set` of a writable property is a call of the method `Set`, with the three arguments of that method.
package struct ExportedObject: Sendable {
    /// Answers a call that has been received.
    package typealias Handler = @Sendable () async -> Result<MethodReply, DBusError>

    package let path: String
    package let interface: InterfaceDescription
    /// Receives a call, in order with the received signals, and returns a function that answers it.
    let receive: @Sendable (IncomingCall) -> Handler
    let property: @Sendable (String) -> DBusValue?

    /// - Parameters:
    ///   - handle: answers a call. Each call runs in its own task, so that a slow one does not delay others. The task
    ///     begins at once, on the session's loop; its work on an actor follows the messages that were received together
    ///     with the call. An actor's answer stays in order with the signals that the actor sends.
    ///   - property: returns the value of a property. Called on the session's loop.
    package init(
        path: String, interface: InterfaceDescription,
        handle: @escaping @Sendable (IncomingCall) async -> Result<MethodReply, DBusError>,
        property: @escaping @Sendable (String) -> DBusValue? = { _ in nil }
    ) {
        self.init(path: path, interface: interface, receive: { call in { await handle(call) } }, property: property)
    }

    /// - Parameters:
    ///   - receive: receives a call on the session's loop, in order with the received signals, and returns a function
    ///     that answers it in a task of its own.
    ///   - property: returns the value of a property. Called on the session's loop.
    package init(
        path: String, interface: InterfaceDescription, receive: @escaping @Sendable (IncomingCall) -> Handler,
        property: @escaping @Sendable (String) -> DBusValue? = { _ in nil }
    ) {
        self.path = path
        self.interface = interface
        self.receive = receive
        self.property = property
    }
}
