internal import Waiting

/// The result of a wait, with this module's errors.
typealias BusOutcome<Value: Sendable> = FirstOutcome<Value, BusWaitErrors>

enum BusWaitErrors: WaitErrors {
    static var cancelled: DBusError { .cancelled }
}
