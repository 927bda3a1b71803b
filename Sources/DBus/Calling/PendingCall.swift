internal import Loop

/// A call that waits for its turn or its answer.
///
/// Safe to share because it is used only on the loop's thread.
package final class PendingCall: @unchecked Sendable {
    let destination: String
    package let path: String
    package let method: String
    package let pace: CallPace
    /// The message, until it is sent.
    var bytes: [UInt8]
    let descriptors: [FileDescriptor]
    let serial: UInt32
    let ticket: CallGate.Ticket
    let timeout: Duration
    /// Ends the wait. The timer of a long call starts when the call is sent.
    var timer: LoopTimer?
    var hasBeenSent = false
    /// Whether it will never be answered, and was not answered nevertheless.
    package internal(set) var isLost = false
    /// The owner of the service's name when the call was sent.
    var owner: String?
    var atTurn: (() -> Bool)?
    /// Receives the result. Nil after that, and after the call is abandoned or withdrawn.
    var completion: ((Result<PendingCalls.Answer, DBusError>) -> Void)?

    init(
        _ call: MethodCall, _ bytes: [UInt8], _ serial: UInt32, _ ticket: CallGate.Ticket, _ timeout: Duration,
        _ atTurn: (() -> Bool)?, _ completion: @escaping (Result<PendingCalls.Answer, DBusError>) -> Void
    ) {
        (destination, path, method, pace) = (call.destination, call.path, call.method, call.pace)
        descriptors = call.descriptors
        (self.bytes, self.serial, self.ticket, self.timeout) = (bytes, serial, ticket, timeout)
        (self.atTurn, self.completion) = (atTurn, completion)
    }
}
