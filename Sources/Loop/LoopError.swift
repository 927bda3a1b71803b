internal import Waiting

/// An error of a socket, or of the loop itself.
package enum LoopError: Error, Equatable, Sendable {
    /// The waiting task was cancelled.
    case cancelled
    /// The process can have no more file descriptors.
    case exhausted
    /// Another socket listens at the address.
    case inUse
    /// The socket has ended, or was closed.
    case ended
    /// The system cannot do what was asked, for the given reason.
    case refused(String)
}

extension LoopError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .cancelled: "the task was cancelled"
        case .exhausted: "the process can have no more file descriptors"
        case .inUse: "another program uses it"
        case .ended: "the socket has ended"
        case .refused(let reason): reason
        }
    }
}

/// The result of a wait, with this module's errors.
typealias LoopOutcome<Value: Sendable> = FirstOutcome<Value, LoopWaitErrors>

enum LoopWaitErrors: WaitErrors {
    static var cancelled: LoopError { .cancelled }
}
