internal import Waiting

/// The first of several ends, with this module's errors.
typealias BusOutcome<Value: Sendable> = FirstOutcome<Value, DBusError>

extension DBusError: WaitFailure {}

extension BusOutcome {
    /// Delivers `.timedOut`.
    func expire() where Failure == DBusError { deliver(.failure(DBusError(.timedOut, message: "the time was up"))) }
}
