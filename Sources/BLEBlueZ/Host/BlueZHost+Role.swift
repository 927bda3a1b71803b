internal import Logging

extension BlueZHost {
    /// A role, as the host sees it.
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
