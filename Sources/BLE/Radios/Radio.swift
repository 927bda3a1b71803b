/// A radio that a central uses, possibly with others: an adapter of this machine, or another stack.
///
/// ```swift
/// let central = try await Central(radios: [.bluez(adapter: "hci0"), .bluez(adapter: "hci1")])
/// ```
public struct Radio: Sendable {
    /// What is restarted of a radio that hears nothing while others do.
    public enum Restart: String, Hashable, Codable, Sendable {
        /// Its scan: it is stopped and started.
        case scan
        /// First its scan, and if that does not help, the radio itself: an adapter is powered off and on, which ends
        /// the links of other programs, and a proxy is connected to again. Not while this central has a link with it.
        case radio
    }

    /// Its name, such as `hci1`, by which programs choose it and advertisements name it.
    public let name: String
    /// What is restarted if the radio hears nothing. ``Restart/scan`` by default.
    public var restart = Restart.scan
    /// Returns the radio's backend. Given those of the radios before it, because all of a central's have to run on one
    /// executor.
    package let makeBackend: @Sendable (_ others: [any CentralBackend]) -> any CentralBackend

    /// Creates a radio on a backend of its own.
    ///
    /// All radios of a central must run on the same executor, as those on one `SimulatedRadio` do, and tell so with
    /// ``CentralBackend/isCurrent``.
    ///
    /// - Parameter name: unique among the radios of a central.
    public init(name: String, backend: some CentralBackend) {
        self.init(name: name) { _ in backend }
    }

    package init(
        name: String, makeBackend: @escaping @Sendable (_ others: [any CentralBackend]) -> any CentralBackend
    ) {
        (self.name, self.makeBackend) = (name, makeBackend)
    }
}
