package import Waiting

/// The first of several ends, with this module's errors.
package typealias Outcome<Value: Sendable> = FirstOutcome<Value, BLEWaitErrors>

package enum BLEWaitErrors: WaitErrors {
    package static var cancelled: BLEError { .cancelled }
}
