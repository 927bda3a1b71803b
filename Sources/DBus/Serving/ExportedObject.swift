/// A call from another process to an object that this process serves.
package struct IncomingCall: Sendable {
    /// The caller's unique bus name.
    package let sender: String
    package let path: String
    package let method: String
    package let arguments: [DBusValue]
    package let descriptors: [FileDescriptor]
}

/// One interface of an object that this process serves on the bus.
///
/// `Set` of a writable property is a call of the method `Set`, with the three arguments of that method.
package struct ExportedObject: Sendable {
    package let path: String
    package let interface: InterfaceDescription
    let handle: @Sendable (IncomingCall) async -> Result<MethodReply, DBusError>
    let property: @Sendable (String) -> DBusValue?

    /// - Parameters:
    ///   - handle: answers a call. Each call runs in its own task, so that a slow one does not delay others. An actor's
    ///     answer keeps its place among the signals that the actor sends.
    ///   - property: returns the value of a property. Called on the session's loop.
    package init(
        path: String, interface: InterfaceDescription,
        handle: @escaping @Sendable (IncomingCall) async -> Result<MethodReply, DBusError>,
        property: @escaping @Sendable (String) -> DBusValue? = { _ in nil }
    ) {
        self.path = path
        self.interface = interface
        self.handle = handle
        self.property = property
    }
}
