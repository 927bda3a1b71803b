public import BLE

/// What happens between a proxy and a Matter server.
public enum MatterProxyEvent: Hashable, Sendable {
    /// The server is reached, and has greeted.
    case serverConnected
    /// There is no connection to the server: it is not reached, does not greet, or refuses this proxy. It is dialed
    /// again after a pause.
    ///
    /// Told once for attempts that fail for the same reason: `retryAfter` is the pause after the first of them. Further
    /// pauses grow to 30 s.
    case serverNotReached(reason: String, retryAfter: Duration)
    /// The connection to a server that has greeted has ended, and its links have. The server is dialed again after the
    /// pause. Nil if it is not, because the proxy ends.
    case serverLost(reason: String, retryAfter: Duration?)
    /// A link that the server has asked for is up.
    case linkConnected(Peripheral.ID)
    /// A link that was up has ended.
    case linkDisconnected(Peripheral.ID)
    /// The server may have no further link, or a client of the same radio has this peripheral.
    ///
    /// Reported at most once in a second, and what is left at the end of the connection: `count` is the number since
    /// the last time, and the device that of the last one.
    case linkRefused(Peripheral.ID, count: Int)
}
