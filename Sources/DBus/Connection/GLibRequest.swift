internal import Loop

/// What GLib is given back when something is done.
///
/// It retains the loop on whose thread GLib calls back: once that has ended, nothing would release what GLib has made.
final class GLibRequest<Value: Sendable> {
    let outcome: BusOutcome<Value>
    private let loop: EventLoop

    init(on loop: EventLoop, _ outcome: BusOutcome<Value>) { (self.loop, self.outcome) = (loop, outcome) }

    /// A pointer to it, for one ``take(_:)``.
    var pointer: UnsafeMutableRawPointer { Unmanaged.passRetained(self).toOpaque() }

    static func take(_ pointer: UnsafeMutableRawPointer?) -> GLibRequest {
        Unmanaged<GLibRequest>.fromOpaque(pointer!).takeRetainedValue()
    }
}
