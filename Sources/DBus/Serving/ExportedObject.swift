/// An interface in D-Bus's introspection notation, `<interface name="…">…</interface>`.
package struct InterfaceDescription: Sendable {
    package let xml: String

    package init(xml: String) {
        self.xml = xml
    }
}

/// A call that another process makes on an object that this one serves.
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
/// Properties are read-only; the bus library answers a `Set` with an error.
package struct ExportedObject: Sendable {
    package let path: String
    package let interface: InterfaceDescription
    let handle: @Sendable (IncomingCall) async -> Result<MethodReply, DBusError>
    let property: @Sendable (String) -> DBusValue?
    /// Whether a caller is answered, by its unique name; asked on the session's loop.
    var admits: @Sendable (String) -> Bool = { _ in true }

    /// - Parameters:
    ///   - handle: answers a call. Each runs in a task of its own, so that a slow one holds up nobody. An actor's answer keeps
    ///     its place among the signals that the actor sends.
    ///   - property: the value of a property, asked for on the session's loop.
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
