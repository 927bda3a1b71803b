public import BLEFeatures

/// The lock's commands: the high byte is the command, the low one the namespace. Texts are UTF-8; where nothing is said of the
/// reply it has no payload.
extension MessageCommand {
    // MARK: Settings

    /// The name.
    public static let setName = MessageCommand(rawValue: 0x0101)
    /// Nothing; the reply is the name.
    public static let getName = MessageCommand(rawValue: 0x0201)
    /// Seconds, one byte; nothing for never.
    public static let setAutoLock = MessageCommand(rawValue: 0x0301)
    /// Nothing; the reply is as for ``setAutoLock``.
    public static let getAutoLock = MessageCommand(rawValue: 0x0401)
    /// The user.
    public static let setUserID = MessageCommand(rawValue: 0x0501)
    /// Nothing; only encrypted.
    public static let reset = MessageCommand(rawValue: 0x0601)

    // MARK: Network

    /// Nothing; the reply is the known networks' names, 1F between them.
    public static let startNetworkListen = MessageCommand(rawValue: 0x0102)
    /// Nothing.
    public static let stopNetworkListen = MessageCommand(rawValue: 0x0202)
    /// A notification: a network's name.
    public static let ssidUpdate = MessageCommand(rawValue: 0x0302)
    /// A network's name, 1F, its password; the reply is 01, or 00 where the lock knows no such network.
    public static let connectToNetwork = MessageCommand(rawValue: 0x0402)

    // MARK: Keys

    /// A public key, and which pairing to resume; see `KeyExchange`.
    public static let keyExchange = MessageCommand(rawValue: 0x0103)
    /// The password for guests; only encrypted.
    public static let setDevicePassword = MessageCommand(rawValue: 0x0203)

    // MARK: The door

    /// Nothing; the reply is 00 locked, 01 unlocked.
    public static let getLockState = MessageCommand(rawValue: 0x0104)
    /// 00 locks, 01 unlocks; only encrypted.
    public static let setLockState = MessageCommand(rawValue: 0x0204)
    /// The password; only encrypted. The reply is 01, or 00 where it is wrong.
    public static let guestUnlock = MessageCommand(rawValue: 0x0105)
}
