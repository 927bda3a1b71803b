/// An event of one of a central's radios; see ``Central/radioEvents()``.
public enum RadioEvent: Sendable {
    /// The radio can be used: it has started, is on again, or has come back.
    case appeared(radio: String)
    /// The radio is off, is gone, or its stack restarts: its links have ended. Also told when it stays so for a
    /// further reason, once for each, which ``RadioStatus/obstacle`` has.
    case gone(radio: String, AdapterState)
    /// The radio's scan receives nothing, and why. The radio tries again by itself.
    case scanFailed(radio: String, BLEError)
    /// The radio scans, and has heard nothing for so long.
    case silent(radio: String, for: Duration)
    /// The radio is restarted, because it is silent while another hears something.
    case restarting(radio: String, Radio.Restart)
    /// The radio hears again, after ``silent(radio:for:)``, or its scan goes on, after ``scanFailed(radio:_:)``.
    case healed(radio: String)
    /// The number of further links that the radio can make has changed. Nil if it no longer says so.
    case slotsChanged(radio: String, free: Int?)

    /// The name of the radio.
    public var radio: String {
        switch self {
        case .appeared(let radio), .gone(let radio, _), .scanFailed(let radio, _), .silent(let radio, _),
            .restarting(let radio, _), .healed(let radio), .slotsChanged(let radio, _):
            radio
        }
    }
}
