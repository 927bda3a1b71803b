public import BLE

/// What happens between a proxy and a Matter server.
public enum MatterProxyEvent: Hashable, Sendable {
    /// The server is reached, and has greeted.
    case serverConnected
    /// The server is not reached, or the connection to it has ended, and its links have. It is dialed again after a
    /// pause.
    ///
    /// Told once for attempts that fail for the same reason.
    case serverLost(reason: String)
    /// A link that the server has asked for is up.
    case linkConnected(Peripheral.ID)
    /// A link that was up has ended.
    case linkDisconnected(Peripheral.ID)
    /// The server may have no further link, or a client of the same radio has this peripheral.
    case linkRefused(Peripheral.ID)
}
