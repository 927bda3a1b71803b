package import Waiting

/// The first of several ends, with this module's errors.
package typealias Outcome<Value: Sendable> = FirstOutcome<Value, BLEError>

extension BLEError: WaitFailure {}
