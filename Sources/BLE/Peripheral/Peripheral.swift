/// A handle for a remote device: its identity and the central that manages it.
///
/// Handles are small and can be copied freely. Two handles are equal if they have the same id. A handle does not keep a
/// link up, and stays valid across disconnections.
///
/// Operations connect if there is no link, within the central's connect timeout. The ``ConnectionPolicy`` determines
/// how long the link then stays: by default, until ``disconnect()`` or ``Central/shutDown()``.
public struct Peripheral: Sendable, Identifiable {
    /// The identity.
    public let id: ID
    /// The central that manages the peripheral.
    public let central: Central

    init(id: ID, central: Central) {
        self.id = id
        self.central = central
    }
}

extension Peripheral: Hashable, CustomStringConvertible {
    /// Compares the ids.
    public static func == (left: Peripheral, right: Peripheral) -> Bool { left.id == right.id }
    /// Hashes the id.
    public func hash(into hasher: inout Hasher) { hasher.combine(id) }
    /// The id.
    public var description: String { id.rawValue }
}
