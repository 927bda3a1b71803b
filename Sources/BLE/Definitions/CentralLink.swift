internal import Synchronization

/// A link between a central and this machine, as long as it lasts.
///
/// A backend makes one for each link, puts it into the requests as they arrive, and ends it before it reports
/// ``PeripheralBackendEvent/centralDisconnected(_:)``: a request that its link's end has overtaken is rejected, not
/// handled after ``ServiceDefinition/onDisconnect``.
public final class CentralLink: Hashable, Sendable {
    private let state = Atomic(true)

    /// Creates a link that is up.
    public init() {}

    /// Whether the link is up, as far as the backend knows.
    public var isUp: Bool { state.load(ordering: .acquiring) }

    /// Records that the link has ended.
    public func end() { state.store(false, ordering: .releasing) }

    /// Returns whether both are the same link.
    public static func == (left: CentralLink, right: CentralLink) -> Bool { left === right }

    /// Hashes the link's identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
