internal import Waiting

/// The first of several ends, with this module's errors.
typealias BusOutcome<Value: Sendable> = FirstOutcome<Value, BusWaitErrors>

enum BusWaitErrors: WaitErrors {
    static var cancelled: DBusError { .cancelled }
}

extension FirstOutcome where Errors == BusWaitErrors {
    /// Delivers `.timedOut`.
    func expire() { deliver(.failure(DBusError(.timedOut, message: "the time was up"))) }
}
