internal import Logging

extension BlueZHost {
    /// What the host knows of a role.
    struct Role: Sendable {
        enum Kind: String, CustomStringConvertible {
            case central, peripheral
            var description: String { rawValue }
        }

        let kind: Kind
        let logger: Logger
        let clock: any Clock<Duration>
        /// Receives the host's events, in its isolation.
        let handle: @Sendable (HostEvent) -> Void
    }
}
