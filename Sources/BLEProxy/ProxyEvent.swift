public import BLE

/// What happens to a proxy.
public enum ProxyEvent: Hashable, Sendable {
    /// A client of a proxy.
    public struct Client: Hashable, Sendable {
        /// The number of its connection, from 1.
        public let number: Int
        /// The name that it gives itself: any text of up to 64 characters.
        public let name: String
    }

    /// A client has greeted.
    case clientConnected(Client)
    /// The connection of a client has ended, and its links are being ended.
    ///
    /// `dropped` is the number of advertisements that were not sent to it, because it was too slow.
    case clientDisconnected(Client, dropped: Int)
    /// A connection was closed before its client has greeted: it has another key, or there are too many clients.
    case clientRefused(reason: String)
    /// A link that a client has asked for is up.
    case linkConnected(Peripheral.ID, Client)
    /// A link has ended, or could not be made.
    case linkDisconnected(Peripheral.ID, Client)
    /// A client may have no further link, or another one has this peripheral.
    case linkRefused(Peripheral.ID, Client)
}
