internal import Waiting

/// The first of several ends, with this module's errors.
typealias BusOutcome<Value: Sendable> = FirstOutcome<Value, BusWaitErrors>

enum BusWaitErrors: WaitErrors {
    static var cancelled: DBusError { .cancelled }
}
