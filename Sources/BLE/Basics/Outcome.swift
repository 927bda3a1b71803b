package import Waiting

/// The result of a wait, with this module's errors.
package typealias Outcome<Value: Sendable> = FirstOutcome<Value, BLEWaitErrors>

package enum BLEWaitErrors: WaitErrors {
    package static var cancelled: BLEError { .cancelled }
}
