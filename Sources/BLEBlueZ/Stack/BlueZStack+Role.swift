internal import Logging

extension BlueZStack {
    /// A role, as the stack sees it.
    struct Role: Sendable {
        enum Kind: String, CustomStringConvertible {
            case central, peripheral
            var description: String { rawValue }
        }

        let kind: Kind
        let logger: Logger
        let clock: any Clock<Duration>
        /// Receives the stack's events, in its isolation.
        let handle: @Sendable (StackEvent) -> Void
        /// The maximum delay of the handling of signals that its scan tolerates.
        var tolerance = Duration.zero
        /// The number of the adapter whose advertisements it receives from the kernel; nil for none.
        var packetAdapter: UInt16?
    }
}
