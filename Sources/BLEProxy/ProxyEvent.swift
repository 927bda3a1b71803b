public import BLE

/// What happens to a proxy.
public enum ProxyEvent: Hashable, Sendable {
    /// A client of a proxy.
    public struct Client: Hashable, Sendable {
        /// The number of its connection, from 1.
        public let number: Int
        /// The name that it gives itself: any text of up to 64 Unicode scalars.
        public let name: String
    }

    /// A client has greeted.
    case clientConnected(Client)
    /// The connection of a client has ended, and its links are being ended.
    ///
    /// `dropped` is the number of advertisements that were not sent to it, because it was too slow.
    case clientDisconnected(Client, dropped: Int)
    /// Connections were closed before their clients have greeted, such as those with another key.
    ///
    /// Reported at most once in a second, and what is left when the proxy is closed: `count` is the number since the
    /// last time, and `reason` that of the last one.
    case clientRefused(reason: String, count: Int)
    /// A link that a client has asked for is up.
    case linkConnected(Peripheral.ID, Client)
    /// A link that was up has ended.
    case linkDisconnected(Peripheral.ID, Client)
    /// A link that a client has asked for could not be made, or was given up before it was up.
    ///
    /// Reported at most once in a second for each client, and what is left when the client leaves: `count` is the
    /// number since the last time, and the peripheral that of the last one. Not reported of links that end after their
    /// client has left.
    case linkFailed(Peripheral.ID, Client, count: Int)
    /// A client may have no further link, or another one has this peripheral.
    ///
    /// Reported at most once in a second for each client, and what is left when the client leaves: `count` is the
    /// number since the last time, and the peripheral that of the last one.
    case linkRefused(Peripheral.ID, Client, count: Int)
}
